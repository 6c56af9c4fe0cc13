"""Pages that need nothing but themselves: style and figures inside, no address to fetch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from . import FIGURES, drawing, quantities
from .runs import Run


@dataclass(frozen=True)
class Picture:
    """A figure as it stands in a page."""

    name: str
    title: str
    caption: str
    svg: str
    """Empty if there was nothing to draw."""


def figures(runs: Sequence[Run], folder: Path) -> list[Picture]:
    """All figures of these runs, in the report's order; as PNG they are put into `folder`."""
    return [
        Picture(drawing.name(one), one.TITLE, one.CAPTION, drawing.both(one, runs, folder))
        for one in FIGURES
    ]


def write(template: str, path: Path, **content: Any) -> Path:
    """Fill a template in and write it to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_environment().get_template(template).render(content), encoding="utf-8")
    return path


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("analysis", "."),
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
