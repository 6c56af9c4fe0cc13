"""`emulate report`: draw a run as a page with figures."""

from pathlib import Path

import click

from .options import RUN, RUNS_OPTION
from .pages import ended, page


@click.command(short_help="Draw a run as a page with figures.")
@RUN
@RUNS_OPTION
def report(run: str, runs: Path) -> None:
    """Draw RUN as a page with figures: report.html, and each figure as a PNG file.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. The page is a
    single file: it can be copied without the run folder.

    \b
    emulate report quickstart                 the latest run of the scenario `quickstart`
    emulate report 8c4eb2                     the run with this id
    """
    page(ended(run, runs))
