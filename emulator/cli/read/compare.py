"""`emulate compare`: compare runs in a table and in figures."""

from pathlib import Path

import click

from ...machine.made_files import filling
from ..options import (
    DEFAULT_PRINT,
    FORMAT_OPTIONS,
    JSON_OPTION,
    OUT_OPTION,
    RUNS_OPTION,
    SET,
    Printed,
)
from ..output import emit
from ..prepare.completed_words import run_names
from .analysis_package import analysis
from .pages import as_print, drawable, ended, page_files, runs_readable, short


@click.command(short_help="Compare runs: accuracy, and the bytes and updates that it cost.")
@click.argument("run", nargs=-1, shell_complete=run_names)
@click.option(
    "--runtimes",
    "file",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE",
    help="Play this scenario in containers and in virtual time, and compare the two runs.",
)
@SET
@OUT_OPTION(help="Also draw the runs over each other: compare.html and its figures in this folder.")
@FORMAT_OPTIONS
@RUNS_OPTION
@JSON_OPTION
def compare(
    run: tuple[str, ...],
    file: Path | None,
    overrides: tuple[str, ...],
    out: Path | None,
    runs: Path,
    prints: Printed,
    as_json: bool,
) -> None:
    """Compare runs in a table: outcome, accuracy, bytes, and the cost of every target accuracy.

    Bytes are those pushed, those pulled, and both directions together, which is what the links of
    the devices carried. A run that is given twice is shown once.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. With
    --runtimes a scenario is played in containers and in virtual time, and the table shows how far
    the two runs agree.

    With --out the figures show runs that differ in the seed only as one line, the median, in a band
    from the least to the most. Format, width and font are those of the figures' files.

    \b
    emulate compare asgd adacomp              the latest run of each of two scenarios
    emulate compare 8c4eb2 77aa01 --out build/compared
    emulate compare 8c4eb2 77aa01 --out paper --format pdf --width 3.33in --font 8
    emulate compare --runtimes lab.yaml --set stop.updates=1000
    """
    if prints != DEFAULT_PRINT and out is None:
        raise click.UsageError("--format, --width and --font need --out, the folder of the figures")
    if file is not None:
        if run:
            raise click.UsageError("give either runs, or a scenario with --runtimes")
        from ..play.compare_runtimes import agree

        agree(file, overrides, out, runs, prints, as_json=as_json)
        return
    if not run:
        raise click.UsageError("Missing argument 'RUN...'.")
    if overrides:
        raise click.UsageError("--set needs --runtimes: finished runs cannot be changed")
    _side_by_side(_distinct(run, runs), out, prints, as_json=as_json)


def _distinct(names: tuple[str, ...], runs: Path) -> list[Path]:
    """Return the folder of each run in `names` once; say which names are of one run."""
    named: dict[Path, tuple[str, Path]] = {}
    for name in names:
        folder = ended(name, runs)
        first, known = named.setdefault(folder.resolve(), (name, folder))
        if known is not folder:
            both = name if name == first else f"{first} and {name}"
            times = "is given twice" if name == first else "are one run"
            click.echo(f"emulate: {both} {times}: {short(folder)} is shown once", err=True)
    return [folder for _, folder in named.values()]


def _side_by_side(folders: list[Path], out: Path | None, prints: Printed, *, as_json: bool) -> None:
    comparing = analysis("pages.compare")

    with runs_readable():
        compared = [comparing.read(folder) for folder in folders]
        with drawable(out):
            drawn = None
            if out:
                with filling(out, page_files(prints.formats)):
                    drawn = comparing.compare_html(compared, out, prints=as_print(prints))
    table = comparing.compare(compared)
    note = f"\n\ndrawn in {short(drawn)}" if drawn else ""
    emit(as_json, comparing.rows(table), lambda: click.echo(comparing.text(table) + note))
