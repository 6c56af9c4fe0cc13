"""From runs and a figure's module to a picture, as PNG for a file or SVG for a page."""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from . import FIGURES
from .runs import Run
from .theme import STYLE

WIDTH, HEIGHT = 7.2, 3.2
"""Inches; a figure that needs more room than HEIGHT has a `height(table)`."""


DPI = 160


class FigureModule(Protocol):
    """What a file in `figures/` has."""

    __name__: str
    TITLE: str
    CAPTION: str

    def table(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Everything the figure shows, in rows; the first column, `run`, names the run."""

    def draw(self, table: pd.DataFrame, ax: Axes) -> None:
        """Draw that table and nothing else; an empty one says what is missing."""


def name(module: FigureModule) -> str:
    """The figure's name, that of its file: `accuracy_updates`."""
    return module.__name__.rpartition(".")[2]


def render(module: FigureModule, table: pd.DataFrame) -> Figure:
    """Draw a figure's `table`; the caller sets STYLE, until the figure is saved."""
    height: Any = getattr(module, "height", lambda table: HEIGHT)
    figure = Figure(figsize=(WIDTH, height(table)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    FigureCanvasAgg(figure)
    module.draw(table, figure.subplots())
    return figure


def png(module: FigureModule, runs: Sequence[Run], folder: Path, dpi: int = DPI) -> Path:
    """Write the figure as `folder/<name>.png`."""
    with rc_context(STYLE):
        return _save(render(module, module.table(runs)), name(module), folder, dpi)


def pngs(runs: Sequence[Run], out: Path | None = None, dpi: int = DPI) -> list[Path]:
    """Write every figure; those of one run go into its own `figures/` unless told where."""
    if out is None and len(runs) != 1:
        raise ValueError("figures of several runs have no folder of their own: say where to")
    folder = out or runs[0].folder / "figures"
    return [png(module, runs, folder, dpi) for module in FIGURES]


def svg(module: FigureModule, runs: Sequence[Run]) -> str:
    """An `<svg>` element to stand in an HTML page, referring to nothing outside of it."""
    with rc_context(STYLE):
        return _inline(render(module, module.table(runs)), module.TITLE)


def both(module: FigureModule, runs: Sequence[Run], folder: Path, dpi: int = DPI) -> str:
    """Write the figure as PNG and return it as SVG; neither, and "", if there is nothing to draw.

    A PNG of this name that was there before is removed then: it shows something else.
    """
    table = module.table(runs)
    if table.empty:
        (folder / f"{name(module)}.png").unlink(missing_ok=True)
        return ""
    with rc_context(STYLE):
        figure = render(module, table)
        _save(figure, name(module), folder, dpi)
        return _inline(figure, module.TITLE)


def _save(figure: Figure, name: str, folder: Path, dpi: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=dpi)
    return path


def _inline(figure: Figure, title: str) -> str:
    sink = io.StringIO()
    blank = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(sink, format="svg", dpi=DPI, metadata=blank)
    text = sink.getvalue()
    text = text[text.index("<svg") :]
    # HTML knows the namespaces by itself; without them the page holds no address at all
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text)
    for given in ("width", "height"):  # the page says how wide, the viewBox how high
        text = re.sub(rf'(<svg[^>]*?)\s+{given}="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
