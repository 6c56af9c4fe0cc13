"""`emulate report`: draw a run as a page with figures."""

from pathlib import Path

import click

from .options import RUN, RUNS_OPTION
from .pages import ended, page


@click.command(short_help="Draw a run as a page with figures.")
@RUN
@click.option(
    "--figure",
    "figures",
    multiple=True,
    metavar="FIGURE",
    help="Draw a figure of your own, too, for example --figure ./figures.py:Mine. Repeatable.",
)
@RUNS_OPTION
def report(run: str, figures: tuple[str, ...], runs: Path) -> None:
    """Draw RUN as a page with figures: report.html, and each figure as a PNG file.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. The page is a
    single file: it can be copied without the run folder.

    FIGURE is ./figures.py:Class, a name that an installed package offers, or a mapping with this
    kind and the fields of the class (docs/own-plugin.md). It replaces the figure of the same name
    that the run's scenario has.

    \b
    emulate report quickstart                 the latest run of the scenario `quickstart`
    emulate report 8c4eb2                     the run with this id
    emulate report 8c4eb2 --figure './figures.py:Mine'
    emulate report 8c4eb2 --figure '{kind: ./figures.py:Mine, window: 50}'
    """
    from ..scenario.reading.kept_figures import typed_figures

    own = typed_figures(figures)
    page(ended(run, runs), own)
