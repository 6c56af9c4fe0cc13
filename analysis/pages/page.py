"""Self-contained HTML pages: style and figures are inside, and nothing is fetched."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .. import FIGURES, quantities
from ..pictures import drawing
from ..pictures.picture_file import whole_file
from ..reading.runs import Run


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


def figures(runs: Sequence[Run], folder: Path) -> list[Picture]:
    """Return the figures that `runs` may have, in the report's order.

    They are written as PNG into `folder`.
    """
    return [
        Picture(
            drawing.name(module), module.TITLE, module.CAPTION, drawing.both(module, runs, folder)
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
