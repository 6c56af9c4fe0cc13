"""`emulate stop`: end a run that is being played."""

import os
import signal
import time
from pathlib import Path

import click

from ..errors import EmulatorError
from ..runs.folder import conductor, find
from .list import facts
from .options import RUNS_OPTION

PATIENCE = 90.0
"""Seconds that a run may take to end when it is told to."""


@click.command(short_help="End a run now, and keep its results.")
@click.argument("run")
@RUNS_OPTION
def stop(run: str, runs: Path) -> None:
    """End RUN now: keep its results (its outcome is `stopped`), and leave no container behind.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. Returns when
    the run has ended.

    \b
    emulate stop quickstart
    """
    path = find(run, runs)
    pid = conductor(path)
    if pid is None:
        raise EmulatorError(
            f"{path.name} is not running (`emulate clean` removes what dead runs left behind)"
        )
    try:
        os.kill(pid, signal.SIGUSR1)
    except PermissionError as error:
        raise EmulatorError(f"{path.name} is conducted by another user (process {pid})") from error
    except ProcessLookupError:
        pass  # it has just ended by itself
    click.echo(f"stopping {path.name} ...")
    until = time.monotonic() + PATIENCE
    while conductor(path) == pid:
        if time.monotonic() > until:
            raise EmulatorError(
                f"it has not ended within {PATIENCE:.0f} s: kill process {pid}, its containers "
                "follow within a minute"
            )
        time.sleep(0.1)
    click.echo(f"outcome      {facts(path)['outcome']}")
