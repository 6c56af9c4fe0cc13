"""Drawing of reports and comparisons by the analysis, with errors translated for the console."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import EmulatorError, HostError
from ..runs.folder import conductor, find
from ..runs.results import recover
from .analysis_package import analysis

if TYPE_CHECKING:
    from ..scenario.reading.kept_figures import KeptFigure


def page(folder: Path, figures: "Sequence[KeptFigure]" = (), *, to_stderr: bool = False) -> None:
    """Draw the report of the run in `folder` and print the path of the page."""
    click.echo(f"{'report':<12} {short(draw(folder, figures))}", err=to_stderr)


def draw(folder: Path, figures: "Sequence[KeptFigure]" = ()) -> Path:
    """Draw the report of the run in `folder`, and return the path of the page.

    It has the figures of the run's scenario, and `figures` of users beside them. Raises
    EmulatorError if the folder cannot be read or written.
    """
    from .own_figures import own_figures

    try:
        with runs_readable():
            return Path(analysis("report").report(folder, own_figures(folder, figures)))
    except OSError as error:
        raise EmulatorError(f"cannot draw the report of {folder}: {error}") from error


def short(path: Path) -> Path:
    """Return `path` relative to the working directory if it lies below, else unchanged."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


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


@contextmanager
def figure_drawn(file: Path, *, to_stderr: bool = False) -> Iterator[None]:
    """Print the path of `file`, which the block draws.

    Translates an OSError into a HostError that names `file`, and removes an unfinished file.
    """
    try:
        with runs_readable():
            yield
    except OSError as error:
        with suppress(OSError):
            file.unlink()
        raise HostError(f"cannot draw {file}: {error.strerror}") from error
    click.echo(f"figure: {file}", err=to_stderr)


def ended(name: str, runs: Path) -> Path:
    """Return the folder of the ended run `name`; gather the logs and the model of a killed run.

    Says on standard error if `emulate resume` can go on with the run.
    Raises EmulatorError while the run is being played.
    """
    folder = find(name, runs)
    if conductor(folder) is not None:
        raise EmulatorError(
            f"{folder.name} is still running: `emulate logs -f {name}` follows it, "
            f"`emulate stop {name}` ends it"
        )
    if recover(folder):
        resume = f"emulate resume {folder.name.rpartition('-')[2]}"
        how = "failed" if (folder / "summary.json").is_file() else "died before its end"
        click.echo(f"{folder.name} {how}: `{resume}` goes on with it", err=True)
    elif not any((folder / file).is_file() for file in ("run.jsonl", "summary.json")):
        raise EmulatorError(f"{folder.name} died before it had begun: run the scenario anew")
    return folder
