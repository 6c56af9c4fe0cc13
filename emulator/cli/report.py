"""`emulate report`: draw one run as a page."""

from pathlib import Path

import click

from .options import RUNS_OPTION
from .pages import ended, page


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
    page(ended(run, runs))
