"""`python -m emulator.sweep.studies NAME` plays a study in virtual time, on all cores."""

import sys
from pathlib import Path

import click

from ...cli.tables import console
from ...cli.watching.sweep_views import LiveView, PlainView
from ...errors import EmulatorError
from ...machine.host import Host
from ...run.cancel import Canceled, canceling
from . import STUDIES, play


@click.command()
@click.argument("name", type=click.Choice(list(STUDIES)))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the study; runs/studies/NAME if not given.",
)
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    metavar="N",
    help="Runs to play side by side; as many as this host has cores if not given.",
)
def main(name: str, out: Path | None, cores: int | None) -> None:
    """Play a study: every learning rate once, then each entry at its best with all seeds.

    Finished runs are not played again: the same command goes on where it was.
    """
    study = STUDIES[name]
    out = out or Path("runs/studies") / name
    terminal = console(stderr=True)
    try:
        with (
            LiveView(terminal) if terminal.is_terminal else PlainView(terminal, every=120) as view,
            canceling(),
        ):
            view.progress(f"{study.about}: into {out}")
            play(study, out, cores or Host.here().cores, view)
    except Canceled:
        print(f"emulate: interrupted: the same command goes on in {out}", file=sys.stderr)
        sys.exit(130)
    except EmulatorError as error:
        sys.exit(f"emulate: {error}")


main()
