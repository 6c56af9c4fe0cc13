"""Figures of users in a report: drawings of the tidy tables of a run.

The emulator loads the classes of the figures; the analysis only calls them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes

from ..pictures.drawing import blank, save, svg_of
from ..pictures.theme import HEIGHT, STYLE
from ..reading.runs import Run
from ..tables.loading import Runs
from .page import Picture


@dataclass(frozen=True)
class OwnFigure:
    """A figure of a user."""

    name: str
    """Name of the PNG file without its ending, unique in a report."""
    title: str
    caption: str
    draw: Callable[[Runs, Axes], None]
    """Draws the tables of the runs. An error's text is shown in place of the figure."""
    height: float = HEIGHT
    """Height in inches."""


def picture(own: OwnFigure, run: Run, folder: Path) -> Picture:
    """Draw `own` for `run`, write it as PNG into `folder`, and return it for a page.

    If the drawing fails, an older PNG is removed, and the picture says why.
    """
    try:
        with rc_context(STYLE):
            figure = blank(own.height)
            own.draw(Runs([run]), figure.subplots())
            drawn = svg_of(figure, own.title, math=True)
            save(figure, own.name, folder, math=True)
            return Picture(own.name, own.title, own.caption, drawn)
    except Exception as error:
        (folder / f"{own.name}.png").unlink(missing_ok=True)
        reason = str(error).replace(f"{run.folder}/", "")
        return Picture(own.name, own.title, own.caption, "", reason or type(error).__name__)
