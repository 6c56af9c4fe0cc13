"""`emulate resume`: go on with a run that died, or that failed in containers."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...runs.cancel import canceling
from ..options import JSON_OPTION, REPORT_OPTION, RUN, RUNS_OPTION, SHAPING_OPTION, SWARM
from ..output import enduring
from .run import conclude, show

if TYPE_CHECKING:
    from ...shaping.features import Delay


@click.command(short_help="Go on with a run that died or failed before its end.")
@RUN
@SHAPING_OPTION
@RUNS_OPTION
@REPORT_OPTION
@JSON_OPTION
@enduring()
def resume(run: str, shaping: "Delay | None", runs: Path, report: bool, as_json: bool) -> None:
    """Go on with RUN after its conductor, the engine, the host or a container that it cannot do
    without has died, in the same folder.

    RUN is a run folder, the id at its end, or a scenario's name for its latest run.

    A run in virtual time is played again from its beginning, compared with its log as far as that
    goes, and goes on: the log has the bytes that it would have had. A run in containers goes on
    from the server's state on disk: its time and its faults go on where they stopped, and devices
    boot anew. That needs a `server.durability` in the scenario. Links are shaped by the means that
    the run began with, unless --shaping names another.

    A run with `evaluate: {when: after}` that ended before all of its versions were measured has the
    rest measured; that needs no durability. The exit code is as of `emulate run`: 130 for a run
    that was canceled, also once all is measured.

    \b
    emulate resume quickstart
    """
    from ...runs.folder import find
    from ...runs.resumption import resuming

    with (
        resuming(find(run, runs)) as dead,
        show(dead.scenario, dead.runtime, to_stderr=as_json) as view,
        canceling(),
    ):
        resumed: tuple[Path, dict[str, Any]] = _player(dead.runtime, shaping)(dead, view)
    folder, summary = resumed
    conclude(folder, summary, as_json=as_json, report=report)


def _player(on: str, shaping: "Delay | None") -> Any:
    """Return the function that resumes a run on the runtime `on`.

    `shaping` forces the containers' means of delays.
    """
    if on == "virtual":
        if shaping:
            raise click.UsageError(f"--shaping {shaping} is for containers: the run has none")
        from ...runtimes.virtual import play_virtual

        return play_virtual.resume
    if on == SWARM:
        from ...runtimes.swarm.play_swarm import resume as go_on
    else:
        from ...runtimes.docker.resume_containers import resume as go_on  # type: ignore[assignment]
    return partial(go_on, shaping=shaping)
