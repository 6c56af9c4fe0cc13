"""`emulate stop`: end a run early and keep its results."""

import os
import signal
import time
from pathlib import Path

import click

from ...errors import EmulatorError
from ...runs.folder import RunFolder, conductor, find
from ..options import RUN, RUNS_OPTION

TIMEOUT = 90.0
"""Seconds that a run may take to end after the signal, or after the last measurement. They begin
again each time that the file of a model has grown."""


@click.command(short_help="End a run now, and keep its results.")
@RUN
@RUNS_OPTION
def stop(run: str, runs: Path) -> None:
    """End RUN now, keep its results, and remove the run's containers.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run. The run's
    outcome is `stopped`. The command returns when the run has ended. With `evaluate: {when: after}`
    that is when the kept versions of the model have been measured. A second `emulate stop` ends
    that, and `emulate resume` measures the rest.

    \b
    emulate stop quickstart
    """
    from ...runs.results import unfinished_models, waiting
    from ..read.list import facts

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
    until, before, told = time.monotonic() + TIMEOUT, 0, False
    folder, sizes = RunFolder(path, ""), list[int]()
    while conductor(path) == pid:
        kept, now = len(waiting(folder)), unfinished_models(folder)
        # another version has been stored, or has been measured, or a slow disk has taken more
        if kept != before or now != sizes:
            until, sizes = time.monotonic() + TIMEOUT, now
        if kept < before and not told:
            click.echo(f"measuring {before} versions; a second `emulate stop` ends that")
            told = True
        before = kept
        if time.monotonic() > until:
            raise EmulatorError(
                f"{path.name} has not ended within {TIMEOUT:.0f} s: kill process {pid}; the "
                "containers end within a minute after it"
            )
        time.sleep(0.1)
    click.echo(f"outcome      {facts(path)['outcome']}")
