"""Rendering of a figure module for runs, as PNG for a file or SVG for a page."""

import io
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .. import FIGURES
from ..facts import host_load
from ..figures import FigureModule
from ..reading.runs import Run
from .picture_file import DPI, fonts_missing, save_png, tidy_text
from .theme import HEIGHT, STYLE

WIDTH = 7.2
"""Width of a figure in inches."""


def name(module: FigureModule) -> str:
    """Return the name of the figure, for a module that of its file: `staleness`."""
    return module.__name__.rpartition(".")[2]


def shown(module: FigureModule, runs: Sequence[Run]) -> bool:
    """Return whether `runs` may have the data of the figure, by its function `shown` if it has one.

    A figure that is not shown has no place in a page; one without data says so there.
    """
    asked: Any = getattr(module, "shown", lambda runs: True)
    return bool(asked(runs))


def render(module: FigureModule, table: pd.DataFrame) -> Figure:
    """Draw a figure's `table`; the caller sets STYLE, until the figure is saved."""
    height: Any = getattr(module, "height", lambda table: HEIGHT)
    figure = blank(height(table))
    module.draw(table, figure.subplots())
    return figure


def blank(height: float) -> Figure:
    """Return an empty figure of the report's width, `height` inches high."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    FigureCanvasAgg(figure)
    return figure


def _marked(module: FigureModule, table: pd.DataFrame, runs: Sequence[Run]) -> Figure:
    """Draw a figure's `table`, of a single run with the times in which its host was short."""
    figure = render(module, table)
    if len(runs) == 1 and not table.empty:
        host_load.mark(figure, runs[0])
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


def both(module: FigureModule, runs: Sequence[Run], folder: Path, dpi: int = DPI) -> str:
    """Write the figure as PNG into `folder` and return it as SVG; without data, return "".

    Without data an older PNG of the same name is removed, as it shows other data.
    """
    table = module.table(runs)
    if table.empty:
        (folder / f"{name(module)}.png").unlink(missing_ok=True)
        return ""
    with rc_context(STYLE):
        figure = _marked(module, table, runs)
        drawn = svg_of(figure, module.TITLE)  # first: a PNG may have to rewrite letters
        save(figure, name(module), folder, dpi)
        return drawn


def save(figure: Figure, name: str, folder: Path, dpi: int = DPI, *, math: bool = False) -> Path:
    """Write `figure` as `folder/<name>.png` and return the path; `math` as `save_png` takes it."""
    return save_png(figure, folder / f"{name}.png", dpi, math=math)


def svg_of(figure: Figure, title: str, *, math: bool = False) -> str:
    """Return `figure` as a self-contained `<svg>` element with the label `title`.

    The reader's browser has the fonts. `math` as `save_png` takes it.
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
