"""Figures of users for a run's report, as the analysis draws them."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import click

from ...errors import PythonFileError
from ...plugins import own_class
from ...scenario.reading.dump import plain
from ...scenario.reading.plugin_files import KeptFigure, kept_figures
from .analysis_package import analysis


def own_figures(folder: Path, given: Sequence[KeptFigure] = ()) -> list[Any]:
    """Return the figures of the run in `folder`, and those that are `given` to the command.

    A given figure replaces those of the same name. A figure that fails says so on standard error,
    too.
    """
    replaced = {each.name for each in given}
    kept = (each for each in kept_figures(folder / "scenario.yaml") if each.name not in replaced)
    return list(_named([*kept, *given]))


def _named(figures: Sequence[KeptFigure]) -> Iterator[Any]:
    """Yield each figure with a name for its file."""
    own, taken = analysis("pages.page").OwnFigure, set[str]()
    for each in figures:
        name = stem = re.sub(r"[^\w-]+", "-", each.name.replace(".py:", "-"))
        for number in range(2, len(figures) + 2):
            if name not in taken:
                break
            name = f"{stem}-{number}"
        taken.add(name)
        title, caption = _words(each)
        height = getattr(each.figure, "height", None)
        yield own(name, title, caption, _drawing(each), **({"height": height} if height else {}))


def _words(each: KeptFigure) -> tuple[str, str]:
    """Return the heading and the caption, which are the docstring of the figure's class."""
    if each.figure is None:
        return each.name, ""
    cls = type(each.figure).__bases__[0]
    about = inspect.cleandoc(cls.__doc__ or "")
    if about.startswith(f"{cls.__name__}("):  # as a dataclass without docstring has it
        about = ""
    title, _, caption = about.partition("\n")
    settings = "".join(f", {key}: {value}" for key, value in _set(each.figure))
    return (title.removesuffix(".") or each.name) + settings, " ".join(caption.split())


def _set(figure: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each field of `figure` that is not its default."""
    written = plain(figure)
    for field in fields(figure):
        value = getattr(figure, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if field.name != "kind" and field.name in written and value != default:
            yield field.name, written[field.name]


def _drawing(each: KeptFigure) -> Callable[[Any, Any], None]:
    """Return the function that draws a figure; an error names file and line."""

    def draw(runs: Any, ax: Any) -> None:
        try:
            if each.figure is None:
                raise PythonFileError(None, None, each.reason)
            with own_class.blamed(each.figure):
                each.figure.draw(runs, ax)
                ax.figure.draw_without_rendering()  # here, errors in texts are the figure's
        except PythonFileError as error:
            click.echo(f"figure       {each.name} cannot be drawn: {error}", err=True)
            raise

    return draw
