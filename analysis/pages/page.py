"""Self-contained HTML pages with figures: style and figures are inside, nothing is fetched."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import FIGURES, quantities
from ..pictures import drawing
from ..pictures.drawing import SCREEN
from ..pictures.picture_file import Print, whole_file
from ..pictures.theme import HEIGHT
from ..reading.runs import Run
from ..tables.loading import Runs


@dataclass(frozen=True)
class Picture:
    """A figure in a page."""

    name: str
    title: str
    caption: str
    svg: str
    """The figure as an `<svg>` element; empty without data."""
    failure: str = ""
    """Why a figure of a user could not be drawn."""


def figures(runs: Sequence[Run], folder: Path, prints: Print = SCREEN) -> list[Picture]:
    """Return the figures that `runs` may have, in the report's order.

    They are written into `folder`, as `prints` says.
    """
    return [
        Picture(
            drawing.name(module),
            module.TITLE,
            module.CAPTION,
            drawing.both(module, runs, folder, prints),
        )
        for module in FIGURES
        if drawing.shown(module, runs)
    ]


def write(template: str, path: Path, **content: Any) -> Path:
    """Fill `template` with `content`, write the page to `path`, and return `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _environment().get_template(template).render(content)
    with whole_file(path) as sink:  # a file name that is no UTF-8 has surrogates
        sink.write(text.encode(errors="backslashreplace"))
    return path


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),  # a wheel gives the package another name
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "size": quantities.size,
        "seconds": quantities.seconds,
        "figures": quantities.figures,
        "percent": quantities.percent,
    }
    return environment


# -- figures of users ------------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnFigure:
    """A figure of a user, whose class the emulator loads; the analysis only calls it."""

    name: str
    """Name of its files without their endings, unique in a report."""
    title: str
    caption: str
    draw: Callable[[Runs, Axes], None]
    """Draws the tables of the runs. An error's text is shown in place of the figure."""
    height: float = HEIGHT
    """Height in inches."""


def own_picture(own: OwnFigure, run: Run, folder: Path, prints: Print = SCREEN) -> Picture:
    """Draw `own` for `run`, write it into `folder` as `prints` says, and return it for a page.

    If the drawing fails, older files of it are removed, and the picture says why.
    """

    def draw(prints: Print) -> Figure:
        figure = drawing.blank(own.height, prints)
        own.draw(Runs([run]), figure.subplots())
        return figure

    try:
        drawn = drawing.drawn_twice(draw, own.title, folder / own.name, prints, math=True)
        return Picture(own.name, own.title, own.caption, drawn)
    except Exception as error:
        drawing.remove(own.name, folder)
        reason = str(error).replace(f"{run.folder}/", "")
        return Picture(own.name, own.title, own.caption, "", reason or type(error).__name__)
