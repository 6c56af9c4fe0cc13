"""Look at runs: `report` for one, `compare` for several."""

from pathlib import Path

import click

from ..folder import find
from .world import JSON_OPTION, RUNS_OPTION


@click.command()
@click.argument("run")
@RUNS_OPTION
def report(run: str, runs: Path) -> None:
    """Draw RUN: a self-contained page (report.html), and its figures as PNG.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run.
    """
    from analysis.report import report as draw

    click.echo(draw(find(run, runs)))


@click.command()
@click.argument("run", nargs=-1, required=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=None,
    help="Also draw the runs over each other, as a page and figures in this folder.",
)
@RUNS_OPTION
@JSON_OPTION
def compare(run: tuple[str, ...], out: Path | None, runs: Path, as_json: bool) -> None:
    """Put runs side by side: a row for each, and what it took to reach an accuracy."""
    from analysis import compare as comparing

    folders = [find(one, runs) for one in run]
    table = comparing.compare([comparing.read(folder) for folder in folders])
    if as_json:
        click.echo(table.to_json(orient="records", indent=2))
    else:
        click.echo(comparing.text(table))
    if out:
        click.echo(comparing.compare_html([comparing.read(folder) for folder in folders], out))
