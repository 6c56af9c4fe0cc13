"""`emulate study`: play a paper's comparison in virtual time, on all cores."""

from pathlib import Path

import click

from ..options import CORES_OPTION
from ..output import console
from ..prepare.completed_words import study_names
from ..read.analysis_package import analysis
from ..read.pages import runs_readable


@click.command(short_help="Play a paper's comparison in virtual time, on all cores.")
@click.argument("name", shell_complete=study_names)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for the study's runs; runs/studies/NAME if not given.",
)
@CORES_OPTION(
    help="Number of runs to play side by side; the number of cores if not given.",
)
@click.option(
    "--docs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Put the tables into FOLDER/NAME.md afterwards, and the figure beside that page.",
)
def study(name: str, out: Path | None, cores: int | None, docs: Path | None) -> None:
    """Play the study NAME, a paper's comparison, in virtual time on all cores.

    Each variant that the study compares, for example an algorithm, is played once at each learning
    rate, and then at its best rate with all seeds.

    NAME is adacomp, residual, pulls, dynacomm, omnivore, reliability or byzantine. Finished runs
    are not played again: the same command goes on where it stopped. In a checkout `--docs docs`
    then puts the tables into the study's page.

    \b
    emulate study pulls
    emulate study adacomp --out runs/again --docs docs
    """
    from ...machine.host import Host
    from ...sweeps.studies import STUDIES, play
    from ..watching.sweep_views import shown

    if name not in STUDIES:
        raise click.BadParameter(f"{name!r} is not {' or '.join(STUDIES)}", param_hint="'NAME'")
    chosen = STUDIES[name]
    if docs:  # before hours of playing
        with runs_readable():
            analysis("papers").check(name, docs)
    out = out or Path("runs/studies") / name
    with shown(console(stderr=True), f"the same command goes on in {out}", every=120) as view:
        view.progress(f"{chosen.about}: into {out}")
        play(chosen, out, cores or Host.here().cores, view)
    if docs:
        with runs_readable():
            for made in analysis("papers").publish(out, docs):
                click.echo(made)
