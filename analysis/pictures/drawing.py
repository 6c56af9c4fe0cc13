"""Rendering of a figure module for runs, as files for print or SVG for a page."""

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch

from .. import FIGURES
from ..facts.host_load import server_host, server_times, short_times, short_times_of
from ..figures import FigureModule
from ..reading.runs import Run
from .picture_file import DPI, FORMATS, Print, fonts_missing, save_all, save_png, tidy_text
from .theme import HEIGHT, STYLE, legend_below

WIDTH = 7.2
"""Width of a figure in inches."""

SCREEN = Print()
"""How figures are drawn for a page."""

_HOST, _SERVER = "#B00020", "#1F4E9E"
_HOST_TEXT, _SERVER_TEXT = (
    "devices and server short of processor time",
    "server used 95 % of a core",
)
_STRIP = 0.96
"""Height of the strip above a band, as a share of the axes: a band lies behind the data."""


def name(module: FigureModule) -> str:
    """Return the name of the figure, for a module that of its file: `staleness`."""
    return module.__name__.rpartition(".")[2]


def shown(module: FigureModule, runs: Sequence[Run]) -> bool:
    """Return whether `runs` may have the data of the figure, by its function `shown` if it has one.

    A figure that is not shown has no place in a page; one without data says so there.
    """
    if runs and name(module) in _OF_TRAININGS and all(run.workload for run in runs):
        return False
    asked: Any = getattr(module, "shown", lambda runs: True)
    return bool(asked(runs))


_OF_TRAININGS = (
    *("accuracy_updates", "error_updates", "loss", "update_rate", "bytes_by_kind", "staleness"),
    *("iteration_gantt", "fault_effects"),
)
"""Figures that look into a training, and have nothing of a workload."""


def render(module: FigureModule, table: pd.DataFrame, prints: Print = SCREEN) -> Figure:
    """Draw a figure's `table`; the caller sets `prints.style`, until the figure is saved."""
    height: Any = getattr(module, "height", lambda table: HEIGHT)
    figure = blank(height(table), prints)
    module.draw(table, figure.subplots())
    return figure


def blank(height: float, prints: Print = SCREEN) -> Figure:
    """Return an empty figure of the size of `prints`, on a page `height` inches high."""
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06)
    figure = Figure(figsize=prints.size(WIDTH, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def _marked(
    module: FigureModule, table: pd.DataFrame, runs: Sequence[Run], prints: Print = SCREEN
) -> Figure:
    """Draw a figure's `table`, of a single run with the times in which its host was short."""
    figure = render(module, table, prints)
    if len(runs) == 1 and not table.empty:
        _mark_shortage(figure, runs[0])
    return figure


def png(module: FigureModule, runs: Sequence[Run], folder: Path, dpi: int = DPI) -> Path:
    """Write the figure as `folder/<name>.png` and return the path."""
    with rc_context(STYLE):
        return save(_marked(module, module.table(runs), runs), name(module), folder, dpi)


def pngs(runs: Sequence[Run], out: Path | None = None, dpi: int = DPI) -> list[Path]:
    """Write every figure that `runs` may have as PNG into the folder `out`, and return the paths.

    `out` may be None for a single run, and means the folder `figures/` of the run.
    """
    if out is None and len(runs) != 1:
        raise ValueError("the figures of several runs need a folder: give `out`")
    folder = out or runs[0].folder / "figures"
    return [png(module, runs, folder, dpi) for module in FIGURES if shown(module, runs)]


def svg(module: FigureModule, runs: Sequence[Run]) -> str:
    """Return the figure as a self-contained `<svg>` element for an HTML page."""
    with rc_context(STYLE):
        return svg_of(_marked(module, module.table(runs), runs), module.TITLE)


def both(module: FigureModule, runs: Sequence[Run], folder: Path, prints: Print = SCREEN) -> str:
    """Write the figure into `folder` as `prints` says, and return it as SVG for a page.

    Without data, return "", and remove older files of the same name, as they show other data.
    """
    table = module.table(runs)
    if table.empty:
        remove(name(module), folder)
        return ""
    return drawn_twice(
        lambda prints: _marked(module, table, runs, prints),
        module.TITLE,
        folder / name(module),
        prints,
    )


def drawn_twice(
    draw: Callable[[Print], Figure], title: str, path: Path, prints: Print, *, math: bool = False
) -> str:
    """Write what `draw` returns to `path` with the endings of the formats; return it as SVG.

    The SVG has the size of a page, whatever that of the files. `math` as `save_picture` takes it.
    """
    with rc_context(SCREEN.style):
        figure = draw(SCREEN)
        drawn = svg_of(figure, title, math=math)  # first: a PNG may have to rewrite letters
        if prints.width is None and prints.font is None:
            save_all(figure, path, prints.formats, math=math)
            return drawn
    with rc_context(prints.style):
        save_all(draw(prints), path, prints.formats, math=math)
    return drawn


def remove(name: str, folder: Path) -> None:
    """Remove the figure `name` of `folder` in all formats."""
    for form in FORMATS:
        (folder / f"{name}.{form}").unlink(missing_ok=True)


def save(figure: Figure, name: str, folder: Path, dpi: int = DPI) -> Path:
    """Write `figure` as `folder/<name>.png` and return the path."""
    return save_png(figure, folder / f"{name}.png", dpi)


def svg_of(figure: Figure, title: str, *, math: bool = False) -> str:
    """Return `figure` as a self-contained `<svg>` element with the label `title`.

    The reader's browser has the fonts. `math` as `save_picture` takes it.
    """
    sink = io.StringIO()
    blank = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    tidy_text(figure, math=math)
    with fonts_missing():
        figure.savefig(sink, format="svg", dpi=DPI, metadata=blank)
    text = sink.getvalue()
    text = text[text.index("<svg") :]
    # HTML needs no namespaces, and without them the page holds no address at all
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text)
    # the page sets the width, and the viewBox then sets the height
    for attribute in ("width", "height"):
        text = re.sub(rf'(<svg[^>]*?)\s+{attribute}="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1)


# -- times in which the host was short -------------------------------------------------------------


_Spans: TypeAlias = list[tuple[float, float]]


def _mark_shortage(figure: Figure, run: Run) -> None:
    """Draw the times in which the host or the server of `run` was short of processor time, as bands
    over all axes of `figure` that show time: those of a host over axes with the host's name as
    their label, those of all hosts over others."""
    own, server = short_times_of(run), server_host(run)
    kinds: list[tuple[_Spans, dict[str, _Spans], str, str, float]] = [
        (short_times(run), own, _HOST, _HOST_TEXT, 0.10),
        (
            server_times(run),
            {host: [] for host in own if host != server},
            _SERVER,
            _SERVER_TEXT,
            0.0,
        ),
    ]
    found = [kind for kind in kinds if kind[0]]
    shown = [ax for ax in figure.axes if _shows_time(ax)] if found else []
    for ax in shown:
        low, high = ax.get_xlim()
        for place, (spans, by_host, colour, _, alpha) in enumerate(reversed(found)):
            spans = by_host.get(str(ax.get_label()), spans)
            _band(ax, [(begin, min(end, high)) for begin, end in spans], colour, alpha, place)
        ax.set_xlim(low, high)
    if shown:
        keys = [Patch(facecolor=colour, alpha=0.6, label=text) for *_, colour, text, _ in found]
        legend_below(shown[0], keys)


def _band(
    ax: Axes, spans: list[tuple[float, float]], colour: str, alpha: float, place: int
) -> None:
    """Draw `spans` behind the data, and as a strip above them, the `place`-th from above."""
    upper = 1 - place * (1 - _STRIP)
    for begin, end in spans:
        if alpha:
            ax.axvspan(begin, end, facecolor=colour, alpha=alpha, linewidth=0, zorder=-1)
        lower = upper - (1 - _STRIP)
        ax.axvspan(begin, end, lower, upper, facecolor=colour, alpha=0.6, linewidth=0, zorder=4)


def _shows_time(ax: Axes) -> bool:
    """Return whether the x-axis of `ax`, or one that shares it, is in emulated seconds."""
    if not ax.axison:
        return False
    together = ax.get_shared_x_axes().get_siblings(ax)
    return any(each.get_xlabel() == "time (s)" for each in together)
