"""Drawing of reports and comparisons by the analysis, with errors translated for the console."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import EmulatorError, HostError
from ...machine.made_files import require_picture
from ...runs.folder import RunFolder, conductor, find, require_plain
from ..options import DEFAULT_PRINT, Printed
from .analysis_package import analysis

if TYPE_CHECKING:
    from ...scenario.reading.plugin_files import KeptFigure


def page(
    folder: Path,
    figures: "Sequence[KeptFigure]" = (),
    prints: Printed = DEFAULT_PRINT,
    *,
    to_stderr: bool = False,
) -> None:
    """Draw the report of the run in `folder` and print the path of the page."""
    click.echo(f"{'report':<12} {short(draw(folder, figures, prints))}", err=to_stderr)


def draw(
    folder: Path, figures: "Sequence[KeptFigure]" = (), prints: Printed = DEFAULT_PRINT
) -> Path:
    """Draw the report of the run in `folder`, and return the path of the page.

    It has the figures of the run's scenario, and `figures` of users beside them; their files are
    as `prints` says. Raises EmulatorError if the folder cannot be read or written.
    """
    from .own_figures import own_figures

    try:
        with runs_readable():
            own = own_figures(folder, figures)
            return Path(analysis("pages.report").report(folder, own, as_print(prints)))
    except OSError as error:
        raise EmulatorError(f"cannot draw the report of {folder}: {error}") from error


def short(path: Path) -> Path:
    """Return `path` relative to the working directory if it lies below, else unchanged."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def require_kept_code(folder: Path, *, figures_only: bool = False) -> None:
    """Raise EmulatorError if `folder` names Python files that are not those which its run kept,
    unless the person at a terminal agrees to run them.

    With `figures_only`, files of other plugins, of models and of data do not matter.
    """
    from ...runs.resumption import changed_code

    changed = changed_code(folder, figures_only=figures_only)
    if not changed:
        return
    click.echo("\n".join(changed), err=True)
    agreed = sys.stdin.isatty() and sys.stderr.isatty()
    if not (agreed and click.confirm("Run these files on this host?", err=True)):
        raise EmulatorError(
            f"{folder.name} has Python files that are not those of its run, and this command would "
            "run them: read them, then `emulate report --trust` and `emulate export --trust` do"
        )


@contextmanager
def runs_readable() -> Iterator[None]:
    """Translate the analysis' RunError into an EmulatorError: the analysis imports no emulator."""
    try:
        yield
    except analysis().RunError as error:
        raise EmulatorError(str(error)) from error


@contextmanager
def drawable(out: Path | None) -> Iterator[None]:
    """Translate an OSError into a HostError that names the folder `out`."""
    try:
        yield
    except OSError as error:
        raise HostError(f"cannot draw the comparison in {out}: {error.strerror}") from error


def check_figure(figure: Path | None, what: str = "the picture") -> None:
    """Raise a click.BadParameter if `figure` is the name of another file than a PNG image.

    `what` is the word of the message for the picture.
    """
    if figure is not None and figure.suffix.lower() != ".png":
        raise click.BadParameter(
            f"'{figure}' must end in .png: {what} is a PNG image", param_hint="--figure"
        )


@contextmanager
def figure_drawn(file: Path, *, to_stderr: bool = False) -> Iterator[None]:
    """Print the path of `file`, which the block draws.

    Translates an OSError into a HostError that names `file`. Raises HostError if `file` is there
    and was not drawn by `emulate`.
    """
    require_picture(file)
    try:
        with runs_readable():
            yield
    except OSError as error:
        raise HostError(f"cannot draw {file}: {error.strerror}") from error
    click.echo(f"figure: {file}", err=to_stderr)


def page_files(formats: Sequence[str] = DEFAULT_PRINT.formats) -> list[str]:
    """Return the names of the files of a comparison's page, drawn or not."""
    return ["compare.html", *figure_files(formats)]


def figure_files(formats: Sequence[str]) -> list[str]:
    """Return the names of the files of all figures of a report, drawn or not."""
    name = analysis("pictures.drawing").name
    return [f"{name(figure)}.{form}" for figure in analysis().FIGURES for form in formats]


def as_print(prints: Printed) -> Any:
    """Return `prints` as the analysis takes it."""
    return analysis("pictures.picture_file").Print(*prints)


def ended(name: str, runs: Path, *, trust: bool = False) -> Path:
    """Return the folder of the ended run `name`; gather the logs and the model of a killed run.

    Says on standard error if `emulate resume` can go on with the run.
    Raises EmulatorError while the run is being played, if links lead out of its folder, and,
    unless `trust`, if Python files would run that are not those which the run kept.
    """
    from ...runs.results import recover, to_measure

    folder = find(name, runs)
    require_plain(folder)
    if conductor(folder) is not None:
        raise EmulatorError(
            f"{folder.name} is still running: `emulate logs -f {name}` follows it, "
            f"`emulate stop {name}` ends it"
        )
    if not trust and not (folder / "summary.json").is_file():
        require_kept_code(folder)  # the run's server is made again, with its plugins
    if recover(folder, partial(click.echo, err=True)):
        resume = f"emulate resume {folder.name.rpartition('-')[2]}"
        how = "failed" if (folder / "summary.json").is_file() else "died before its end"
        click.echo(f"{folder.name} {how}: `{resume}` goes on with it", err=True)
    elif waits := to_measure(RunFolder(folder, folder.name.rpartition("-")[2])):
        click.echo(f"{folder.name}: {waits}", err=True)
    elif not any((folder / file).is_file() for file in ("run.jsonl", "summary.json")):
        raise EmulatorError(f"{folder.name} died before it had begun: run the scenario anew")
    return folder
