"""`emulate report`: draw a run as a page with figures."""

from pathlib import Path

import click

from ..options import FORMAT_OPTIONS, RUN, RUNS_OPTION, TRUST_OPTION, Printed
from .pages import ended, page, require_kept_code


@click.command(short_help="Draw a run as a page with figures.")
@RUN
@click.option(
    "--figure",
    "figures",
    multiple=True,
    metavar="FIGURE",
    help="Draw a figure of your own, too, for example --figure ./figures.py:LossByDevice. "
    "Repeatable.",
)
@FORMAT_OPTIONS
@TRUST_OPTION
@RUNS_OPTION
def report(run: str, figures: tuple[str, ...], trust: bool, runs: Path, prints: Printed) -> None:
    """Draw RUN as a page with figures: report.html, and each figure as a file in figures/.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. The page is a
    single file: it can be copied without the run folder. Format, width and font are those of the
    figures' files; the page stays as it is.

    FIGURE is ./figures.py:Class, a name that an installed package offers, or a mapping with this
    kind and the fields of the class; `emulate new half --from half` writes a figures.py to begin
    with. It replaces the figure of the same name that the run's scenario has.

    Figures in Python files run on this host, with your rights. If a file in RUN has changed since
    the run, the command asks, or is refused without a terminal. Trust no folder of a stranger:
    its digests are the stranger's, too.

    \b
    emulate report quickstart                 the latest run of the scenario `quickstart`
    emulate report 8c4eb2                     the run with this id
    emulate report 8c4eb2 --format pdf --width 3.33in --font 8
    emulate report 8c4eb2 --figure './figures.py:LossByDevice'
    emulate report 8c4eb2 --figure '{kind: ./figures.py:LossByDevice, window: 50}'
    """
    from ...scenario.reading.plugin_files import typed_figures

    own = typed_figures(figures)
    folder = ended(run, runs, trust=trust)
    if not trust:
        require_kept_code(folder, figures_only=True)
    page(folder, own, prints)
