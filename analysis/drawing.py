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


def render(module: FigureModule, runs: Sequence[Run]) -> Figure:
    """The figure in the style of the house; keep to that style while saving it."""
    table = module.table(runs)
    height: Any = getattr(module, "height", lambda table: HEIGHT)
    figure = Figure(figsize=(WIDTH, height(table)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    FigureCanvasAgg(figure)
    module.draw(table, figure.subplots())
    return figure


def png(module: FigureModule, runs: Sequence[Run], folder: Path, dpi: int = 160) -> Path:
    """Write the figure as `folder/<name>.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name(module)}.png"
    with rc_context(STYLE):
        render(module, runs).savefig(path, dpi=dpi)
    return path


def pngs(runs: Sequence[Run], out: Path | None = None, dpi: int = 160) -> list[Path]:
    """Write every figure; those of one run go into its own `figures/` unless told where."""
    if out is None and len(runs) != 1:
        raise ValueError("figures of several runs have no folder of their own: say where to")
    folder = out or runs[0].folder / "figures"
    return [png(module, runs, folder, dpi) for module in FIGURES]


def svg(module: FigureModule, runs: Sequence[Run]) -> str:
    """An `<svg>` element to stand in an HTML page, referring to nothing outside of it.

    Empty if there is nothing to draw.
    """
    if module.table(runs).empty:
        return ""
    sink = io.StringIO()
    with rc_context(STYLE):
        blank = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        render(module, runs).savefig(sink, format="svg", dpi=160, metadata=blank)
    text = sink.getvalue()
    text = text[text.index("<svg") :]
    # HTML knows the namespaces by itself; without them the page holds no address at all
    text = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'(<svg[^>]*?)\s+width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?)\s+height="[^"]*"', r"\1", text, count=1)
    return text.replace("<svg", f'<svg role="img" aria-label="{module.TITLE}"', 1)
