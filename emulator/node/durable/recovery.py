"""Makes the durable server: from the plan, then from the state and the inputs on disk.

`recovered` makes a server that goes on; `last_state` only reads, for the model of a run that ended.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...core.plan import Durability, Plan
from ...core.server.seen_pushes import SeenPushes
from ...log.lines import RunLog
from ...log.records import RecoveredRecord
from ...plugins.stateful import Stateful
from ...world.emulated_clock import UNDILATED, EmulatedClock
from ...world.roles import CONDUCTOR
from . import input_log
from .durable_server import DurableServer, Lasting
from .log_tail import LogTail, ReadTail
from .logged_reports import LoggedReports
from .packed_state import PackedState, unpacked
from .state_folder import StateFolder

FOLDER = "durable"
"""Folder in the server's output folder."""


class Resumed(NamedTuple):
    """How often a run was resumed after its conductor had died, and when it stood still last."""

    times: int = 0
    at: float = 0.0
    """Emulated seconds at the last record of the run."""


NEVER = Resumed()
"""Of a run that was never resumed."""


def recovered(
    output: Path,
    plan: Plan,
    build: Callable[[RunLog], Lasting],
    resumed: Resumed = NEVER,
    clock: EmulatedClock = UNDILATED,
    reports: LoggedReports | None = None,
) -> tuple[DurableServer, RunLog]:
    """Return the server of a run with durability, and its log, `run.jsonl` in the folder `output`.

    `build` makes the server as at the run's start. If the folder holds the state of an earlier
    process, the server goes on from there. If the run was `resumed` once more than the state knows,
    the run stands still until every member has said hello again. Its clock then goes on from the
    last record, though the state may be older. `clock` is the driver's. `reports` are those of the
    shards that the server leads; it then waits for them if it died in the middle of a step.

    Raises ValueError if the run has begun and no state of it can be read.
    """
    assert plan.durability is not None
    tail = LogTail(output / "run.jsonl")
    log = RunLog(tail)
    folder = StateFolder(output / FOLDER)
    server = DurableServer(build(log), folder, tail, plan.durability, reports)
    begun = tail.has_begun()
    _restore(server, folder, tail, plan.durability)
    last, booked = tail.replayed()
    lost = max(0, last - server.version)  # updates of which only the log tells
    if booked:
        server.server.recover(booked, server.seen.plain())
    if begun and server.server.zero is None:
        raise ValueError(f"{output / FOLDER}: no state and no inputs of the run can be read")
    folder.discard_from(server.number)
    server.open(due=bool(server.number), lost=bool(booked))

    def announce() -> None:
        zero = server.server.zero
        assert zero is not None
        log.write(RecoveredRecord(server.now - zero, server.version, lost, zero - server.offset))

    server.announce = announce
    if begun and not server.over:
        if resumed.times > server.resumes:
            beside = [plan.evaluator, CONDUCTOR if plan.conducted else None]
            members = {*plan.workers, *filter(None, beside)}
            server.gather_again(members, resumed.times, resumed.at)
        else:
            server.now = max(server.now, clock.now() + server.offset)
            announce()
    return server, log


class LastState(NamedTuple):
    """The server of a run as its files have it last."""

    server: Lasting
    lines: list[bytes]
    """Lines that a crash has kept from `run.jsonl`."""
    logged: int
    """Version of the last update in `run.jsonl`; larger than the server's if the state is older."""


def last_state(
    output: Path,
    plan: Plan,
    build: Callable[[RunLog], Lasting],
    reports: LoggedReports | None = None,
) -> LastState:
    """Return the server of a run with durability as its files in the folder `output` have it last.

    The files stay as they are. `build` and `reports` as in `recovered`. Raises ValueError, with the
    names of the damaged files, if no state of the run can be read.
    """
    assert plan.durability is not None
    tail, folder = ReadTail(output / "run.jsonl"), StateFolder(output / FOLDER)
    server = DurableServer(build(RunLog(tail)), folder, tail, plan.durability, reports)
    _restore(server, folder, tail, plan.durability)
    if reports is not None:
        reports.open(None)
    if server.server.zero is None:
        raise ValueError(
            f"{output / FOLDER}: no state and no inputs of the run can be read{damage(output)}"
        )
    logged, _ = tail.replayed()
    return LastState(server.server, tail.missing, max(logged, server.version))


def seen_tickets(output: Path) -> dict[str, int]:
    """Return, by node, the largest ticket of a push that the state and the inputs in the folder
    `output` know.

    The files stay as they are. Raises ValueError for an input that no server has written.
    """
    folder, seen = StateFolder(output / FOLDER), SeenPushes()
    saved = folder.newest()
    if saved is not None:
        seen.restore(saved.facts["seen"])
    for record in folder.inputs(saved.number if saved else 0):
        _, message, _ = input_log.parse(record)
        if message is not None:
            seen.repeats(message)
    return {node: ticket for node, (ticket, _) in seen.plain().items()}


def damage(output: Path) -> str:
    """Return the names of the damaged files of the server's state in `output`, as `: NAME is
    damaged`; empty without any."""
    names = StateFolder(output / FOLDER).damaged()
    if not names:
        return ""
    return f": {', '.join(names)} {'is' if len(names) == 1 else 'are'} damaged"


def restore_state(server: Stateful, state: PackedState) -> None:
    """Put `state` into `server`, made from the same plan. Raises ValueError if it does not fit."""
    try:
        server.restore(unpacked(state))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the state does not fit the plan: {error!r}") from error


def _restore(
    server: DurableServer, folder: StateFolder, tail: LogTail, durability: Durability
) -> None:
    """Bring `server` to the last state on disk, and through the inputs since."""
    saved = folder.newest()
    tail.replay_from(0)
    if saved is not None:
        restore_state(server.server, saved.state)
        server.restore(saved.facts)
        server.number = saved.number
        tail.replay_from(saved.facts["position"])
    if durability.every is None:
        server.replay(folder.inputs(server.number))
