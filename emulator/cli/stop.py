"""`emulate stop`: end a run early and keep its results."""

import os
import signal
import time
from pathlib import Path

import click

from ..errors import EmulatorError
from ..runs.folder import conductor, find
from .list import facts
from .options import RUN, RUNS_OPTION

TIMEOUT = 90.0
"""Seconds that a run may take to end after the signal."""


@click.command(short_help="End a run now, and keep its results.")
@RUN
@RUNS_OPTION
def stop(run: str, runs: Path) -> None:
    """End RUN now, keep its results, and remove the run's containers.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. The run's
    outcome is `stopped`. The command returns when the run has ended.

    \b
    emulate stop quickstart
    """
    path = find(run, runs)
    pid = conductor(path)
    if pid is None:
        raise EmulatorError(
            f"{path.name} is not running (`emulate clean` removes the containers of dead runs)"
        )
    try:
        os.kill(pid, signal.SIGUSR1)
    except PermissionError as error:
        raise EmulatorError(f"{path.name} is conducted by another user (process {pid})") from error
    except ProcessLookupError:
        pass  # the run has just ended by itself
    click.echo(f"stopping {path.name} ...")
    until = time.monotonic() + TIMEOUT
    while conductor(path) == pid:
        if time.monotonic() > until:
            raise EmulatorError(
                f"{path.name} has not ended within {TIMEOUT:.0f} s: kill process {pid}; the "
                "containers end within a minute after it"
            )
        time.sleep(0.1)
    click.echo(f"outcome      {facts(path)['outcome']}")
