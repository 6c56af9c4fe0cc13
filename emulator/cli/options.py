"""Arguments and options shared by several commands."""

import re
from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..runs.folder import RUNS
from ..shaping.features import DELAYS
from .prepare.completed_words import run_names, scenario_files, scenario_keys

if TYPE_CHECKING:
    from ..scenario import Scenario
    from ..scenario.reading.typed_values import Override


def together(
    argument: str, made: Callable[..., Any], *options: Callable[..., Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command the `options` as a single `argument`.

    Its value is what `made` returns for their values, which are its arguments by name.
    """
    names = tuple(signature(made).parameters)

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def parsed(*arguments: Any, **given: Any) -> Any:
            value = made(**{name: given.pop(name) for name in names})
            return command(*arguments, **{argument: value}, **given)

        for option in reversed(options):
            parsed = option(parsed)
        return parsed

    return decorated


# -- scenario files, runs --------------------------------------------------------------------------

FILE = click.argument("file", type=click.Path(path_type=Path), shell_complete=scenario_files)
OPTIONAL_FILE = click.argument(
    "file", type=click.Path(path_type=Path), required=False, shell_complete=scenario_files
)
RUN = click.argument("run", shell_complete=run_names)
"""Argument of a run: its folder, its id or its scenario."""

SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="PATH=VALUE",
    shell_complete=scenario_keys,
    help="Override a key of the scenario, for example --set training.batch_size=32. Repeatable.",
)


class ScenarioFile(NamedTuple):
    """The scenario file that was asked for, with the overrides of its keys."""

    path: Path
    overrides: tuple[str, ...] = ()

    def load(self, *more: "str | Override") -> "Scenario":
        """Return the scenario with `more` overrides after those of --set. Raises ScenarioError."""
        from ..scenario import load

        return load(self.path, (*self.overrides, *more))


def _scenario_file(file: Path, overrides: tuple[str, ...]) -> ScenarioFile:
    return ScenarioFile(file, overrides)


SCENARIO = together("file", _scenario_file, FILE, SET)
"""A scenario file and --set, as the argument `file`."""
ON = {"docker": "containers", "virtual": "virtual time"}
"""The runtimes, with their names in words."""

ON_OPTION = partial(
    click.option, "--on", type=click.Choice(list(ON)), default="docker", show_default=True
)
"""Option of the runtime; call it with the `help` of the command."""
SWARM = "swarm"
"""The runtime of containers on several hosts, which is as that of one in most respects."""
RUNTIMES = {**ON, SWARM: "containers of several hosts"}
"""All runtimes, with their names in words."""
RUNTIME_OPTION = partial(
    click.option, "--on", type=click.Choice(list(RUNTIMES)), default="docker", show_default=True
)
"""The same for commands that know several hosts, too."""
SHAPING_OPTION = click.option(
    "--shaping",
    type=click.Choice(DELAYS),
    default=None,
    metavar="MEANS",
    help="Force the means by which containers' packets are delayed: `netem` in the kernel, "
    "`packets` held in user space behind TAP devices, or whole messages held at the `receiver`. "
    "Default: the first of them that the kernel has.",
)
"""Option of the means of shaping in containers."""
RUNS_OPTION = click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=RUNS,
    show_default=True,
    metavar="FOLDER",
    help="Folder of the runs.",
)
OUT_OPTION = partial(
    click.option, "--out", type=click.Path(path_type=Path), default=None, metavar="FOLDER"
)
"""Option of an output folder; call it with the `help` of the command."""
FIGURE_OPTION = partial(
    click.option,
    "--figure",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.png",
)
"""Option of a picture; call it with the `help` of the command."""
COSTS_OPTION = partial(
    click.option, "--costs", type=click.Path(path_type=Path), metavar="COSTS.json"
)
"""Option of a file of costs; call it with the `help` of the command."""
CORES_OPTION = partial(click.option, "--cores", type=click.IntRange(min=1), metavar="N")
"""Option of the number of runs side by side; call it with the `help` of the command."""
_CLUSTER = click.option(
    "--cluster",
    default=None,
    metavar="ADDRESS",
    help="Play in virtual time on the workers of the Dask cluster with this scheduler, for example "
    "tcp://scheduler:8786; `emulate cluster --help` says more.",
)


class PlayedBy(NamedTuple):
    """Values of `--cores` and `--cluster`. None: all cores; this machine."""

    cores: int | None
    cluster: str | None


def played_by(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command the options `--cores`, with its `help`, and
    `--cluster` as the argument `by`."""
    return together("by", PlayedBy, CORES_OPTION(help=help), _CLUSTER)


REPORT_OPTION = click.option(
    "--report/--no-report", default=True, show_default=True, help="Draw the report at the end."
)
TRUST_OPTION = click.option(
    "--trust",
    is_flag=True,
    help="Run the Python files that RUN names, though they are not those that the run kept.",
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


# -- files of figures ------------------------------------------------------------------------------

FIGURE_FORMATS = ("png", "svg", "pdf")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
"""Inches of each unit of a width; `pt` is that of TeX, in which LaTeX prints `\\columnwidth`."""
_WIDTHS, _FONTS = (1.5, 20.0), (4.0, 24.0)
"""Least and largest width in inches, and size of text in points."""

WIDTH_OPTION = click.option(
    "--width",
    metavar="WIDTH",
    help="Width of the files of figures, for example 3.33in or 84mm; `pt` is TeX's. Default: 7.2in "
    "for the figures of a run.",
)
FONT_OPTION = click.option(
    "--font",
    metavar="POINTS",
    help="Size of the text in the files of figures, for example 8. Default: 9.",
)
_FORMAT_OPTION = click.option(
    "--format",
    "formats",
    metavar="FORMATS",
    help="Formats of the files of figures, separated by commas: png, svg, pdf. In SVG and PDF text "
    "stays text. Default: png.",
)


class Printed(NamedTuple):
    """How the files of figures are asked for, as the analysis' `Print` takes it."""

    formats: tuple[str, ...] = ("png",)
    width: float | None = None
    """In inches."""
    font: float | None = None
    """In points."""


DEFAULT_PRINT = Printed()


def printed(formats: str | None, width: str | None, font: str | None) -> Printed:
    """Return the three options as numbers; raise a click.UsageError that names all mistakes."""
    mistakes: list[str] = []
    given = tuple(dict.fromkeys(word.strip() for word in (formats or "png").split(",")))
    if wrong := [word for word in given if word not in FIGURE_FORMATS]:
        mistakes.append(f"--format: {', '.join(map(repr, wrong))} is not png, svg or pdf")
    found = _length(width, mistakes), _points(font, mistakes)
    if mistakes:
        raise click.UsageError("; ".join(mistakes))
    return Printed(given, *found)


FORMAT_OPTIONS = together("prints", printed, _FORMAT_OPTION, WIDTH_OPTION, FONT_OPTION)
"""Options of files of figures, as the argument `prints`."""


def _length(text: str | None, mistakes: list[str]) -> float | None:
    """Return the width `text` in inches; note a mistake in `mistakes`."""
    if text is None:
        return None
    least, most = _WIDTHS
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(in|cm|mm|pt)", text.strip())
    inches = float(match[1]) * _INCHES[match[2]] if match else 0.0
    if not least <= inches <= most:
        expected = f"a width from {least:g}in to {most:g}in, in in, cm, mm or pt"
        mistakes.append(f"--width: {text!r} is not {expected}")
    return inches


def _points(text: str | None, mistakes: list[str]) -> float | None:
    """Return the size of text `text` in points; note a mistake in `mistakes`."""
    if text is None:
        return None
    least, most = _FONTS
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(?:\s*pt)?", text.strip())
    points = float(match[1]) if match else 0.0
    if not least <= points <= most:
        mistakes.append(f"--font: {text!r} is not a size from {least:g} to {most:g} points")
    return points
