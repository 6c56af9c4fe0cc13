"""Pages that the analysis draws of runs, and its errors in our words."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ..errors import EmulatorError, HostError
from ..runs.folder import conductor, find
from ..runs.results import recover
from .analysis_package import analysis


def page(folder: Path, *, to_stderr: bool = False) -> None:
    """Draw a run's report, and say where it is."""
    try:
        with runs_readable():
            drawn = analysis("report").report(folder)
    except OSError as error:
        raise EmulatorError(f"cannot draw the report of {folder}: {error}") from error
    click.echo(f"{'report':<12} {short(drawn)}", err=to_stderr)


def short(path: Path) -> Path:
    """The path as one would type it here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@contextmanager
def runs_readable() -> Iterator[None]:
    """Say in our words what the analysis, which knows nothing of us, cannot read."""
    try:
        yield
    except analysis().RunError as error:
        raise EmulatorError(str(error)) from error


@contextmanager
def drawable(out: Path | None) -> Iterator[None]:
    """Raise a HostError where the folder `out` cannot take a comparison."""
    try:
        yield
    except OSError as error:
        raise HostError(f"cannot draw the comparison in {out}: {error.strerror}") from error


def ended(name: str, runs: Path) -> Path:
    """The run's folder, complete as far as can be; an EmulatorError while it is being played."""
    folder = find(name, runs)
    if conductor(folder) is not None:
        raise EmulatorError(
            f"{folder.name} is still running: `emulate logs -f {name}` follows it, "
            f"`emulate stop {name}` ends it"
        )
    recover(folder)
    return folder
