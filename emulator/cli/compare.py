"""Look at runs: `report` for one, `compare` for several."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ..errors import EmulatorError, HostError
from ..run.folder import conductor, find
from ..run.results import recover
from .options import JSON_OPTION, OUT_OPTION, RUNS_OPTION, SET


@click.command(short_help="Draw a run as a page with figures.")
@click.argument("run")
@RUNS_OPTION
def report(run: str, runs: Path) -> None:
    """Draw RUN: a page that needs nothing else (report.html), and its figures as PNG.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run.

    \b
    emulate report quickstart                 the latest run of that scenario
    emulate report 8c4eb2                     the run whose folder ends so
    """
    page(_ended(run, runs))


@click.command(short_help="Put runs side by side, and what each accuracy cost.")
@click.argument("run", nargs=-1)
@click.option(
    "--runtimes",
    "file",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE",
    help="Play this scenario in virtual time and in containers, and compare the two.",
)
@SET
@OUT_OPTION(
    help="Also draw the runs over each other: a page, compare.html, and figures in this folder."
)
@RUNS_OPTION
@JSON_OPTION
def compare(
    run: tuple[str, ...],
    file: Path | None,
    overrides: tuple[str, ...],
    out: Path | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Put each RUN side by side: how it went, and what it took to reach an accuracy.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. With
    --runtimes a scenario is played in virtual time and in containers, and the difference told.

    \b
    emulate compare asgd adacomp              the latest run of each of two scenarios
    emulate compare 8c4eb2 77aa01 --out build/compared
    emulate compare --runtimes scenarios/quickstart.yaml --set stop.updates=1000
    """
    if file is not None:
        if run:
            raise click.UsageError("give either runs, or a scenario with --runtimes")
        from .compare_runtimes import agree

        agree(file, overrides, out, runs, as_json=as_json)
        return
    if not run:
        raise click.UsageError("Missing argument 'RUN...'.")
    if overrides:
        raise click.UsageError("--set goes with --runtimes: runs are as they are")
    _side_by_side([_ended(one, runs) for one in run], out, as_json=as_json)


def _side_by_side(folders: list[Path], out: Path | None, *, as_json: bool) -> None:
    from analysis import compare as comparing

    with runs_readable():
        compared = [comparing.read(folder) for folder in folders]
        with drawable(out):
            drawn = comparing.compare_html(compared, out) if out else None
    table = comparing.compare(compared)
    if as_json:
        click.echo(json.dumps(comparing.rows(table), indent=2))
        return
    click.echo(comparing.text(table))
    if drawn:
        click.echo(f"\ndrawn in {short(drawn)}")


def page(folder: Path, *, to_stderr: bool = False) -> None:
    """Draw a run's report, and say where it is."""
    from analysis.report import report as draw

    try:
        with runs_readable():
            drawn = draw(folder)
    except OSError as error:
        raise EmulatorError(f"cannot draw the report of {folder}: {error}") from error
    click.echo(f"{'report':<12} {short(drawn)}", err=to_stderr)


def short(path: Path) -> Path:
    """The path as one would type it here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@contextmanager
def runs_readable() -> Iterator[None]:
    """Say in our words what the analysis, which knows nothing of us, cannot read."""
    from analysis import RunError

    try:
        yield
    except RunError as error:
        raise EmulatorError(str(error)) from error


@contextmanager
def drawable(out: Path | None) -> Iterator[None]:
    """Raise a HostError where the folder `out` cannot take a comparison."""
    try:
        yield
    except OSError as error:
        raise HostError(f"cannot draw the comparison in {out}: {error.strerror}") from error


def _ended(name: str, runs: Path) -> Path:
    """The run's folder, complete as far as can be; an EmulatorError while it is being played."""
    folder = find(name, runs)
    if conductor(folder) is not None:
        raise EmulatorError(
            f"{folder.name} is still running: `emulate logs -f {name}` follows it, "
            f"`emulate stop {name}` ends it"
        )
    recover(folder)
    return folder
