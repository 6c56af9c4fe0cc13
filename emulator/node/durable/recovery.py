"""Makes the durable server: from the plan, then from the state and the inputs on disk."""

import time
from collections.abc import Callable
from pathlib import Path

from ...core.plan import Durability, Plan
from ...core.server import ParameterServer
from ...log.records import RecoveredRecord
from ...log.writing import RunLog
from .durable_server import DurableServer
from .log_tail import LogTail
from .object_tree import thaw
from .state_folder import StateFolder

FOLDER = "durable"
"""Folder in the server's output folder."""


def recovered(
    output: Path, plan: Plan, build: Callable[[RunLog], ParameterServer], resumes: int = 0
) -> tuple[DurableServer, RunLog]:
    """Return the server of a run with durability, and its log, `run.jsonl` in the folder `output`.

    `build` makes the server as at the run's start. If the folder holds the state of an earlier
    process, the server goes on from there. `resumes` counts how often the run was resumed; one more
    than the state knows lets the run stand still until every member has said hello again.

    Raises ValueError if the run has begun and no state of it can be read.
    """
    assert plan.durability is not None
    tail = LogTail(output / "run.jsonl")
    log = RunLog(tail)
    folder = StateFolder(output / FOLDER)
    server = DurableServer(build(log), folder, tail, plan.durability)
    begun = tail.has_begun()
    lost = _restore(server, folder, tail, plan.durability)
    if begun and server.server.zero is None:
        raise ValueError(f"{output / FOLDER}: no state and no inputs of the run can be read")
    folder.discard_from(server.number)
    server.open(due=bool(server.number))

    def announce() -> None:
        zero = server.server.zero
        assert zero is not None
        log.write(RecoveredRecord(server.now - zero, server.version, lost, zero - server.offset))

    server.announce = announce
    if begun and not server.over:
        if resumes > server.resumes:
            server.gather_again({*plan.workers, *filter(None, [plan.evaluator])}, resumes)
        else:
            server.now = max(server.now, time.monotonic() + server.offset)
            announce()
    return server, log


def _restore(
    server: DurableServer, folder: StateFolder, tail: LogTail, durability: Durability
) -> int:
    """Bring `server` to the last state on disk; return the number of updates that are lost."""
    saved = folder.newest()
    tail.replay_from(0)
    if saved is not None:
        thaw(server.server, saved.state)
        server.restore(saved.facts)
        server.number = saved.number
        tail.replay_from(saved.facts["position"])
    if durability.every is None:
        for record in folder.inputs(server.number):
            server.replay(record)
    return max(0, tail.replayed() - server.version)
