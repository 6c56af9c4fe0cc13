"""The server's part: the parameter server on a socket, with its log and checkpoints on disk."""

import signal
import time
from pathlib import Path
from typing import Any

from .. import chance, models, schedules
from ..core import assembly
from ..core.chores import Chore
from ..core.plan import Plan
from ..core.server import ParameterServer
from ..log.writing import RunLog
from ..models import saved_model
from ..shaping.hold import Hold, hold_for
from ..transport import server_driver
from ..transport.router import Router
from . import config
from .checkpoint import Checkpoints, save
from .config import ENDINGS, PORT, ServerRole
from .roll import FILE, Roll

WHOLE = schedules.plain(schedules.Sequential())
"""The schedule with which models and updates travel whole."""

SLACK = 65536
"""Bytes by which the largest honest frame may exceed the dense model."""


def serve(part: ServerRole, output: Path = config.OUTPUT, port: int = PORT) -> None:
    """Serve until the run is over; write `run.jsonl` and `model.npz` to the folder `output`."""
    model = models.find(part.plan.model)
    canceled: list[str] = []
    for reason, number in ENDINGS.items():
        signal.signal(number, lambda *_, reason=reason: canceled.append(reason))
    largest = 4 * model.layout.size + SLACK
    with (output / "run.jsonl").open("ab", buffering=0) as sink:
        log = RunLog(sink)
        server = build(part, log)
        pieces = 1 if part.plan.worker.schedule == WHOLE else len(model.layout.layers)
        address = f"tcp://*:{port}"
        with Router(address, part.guests, part.heartbeat, largest, pieces) as router:
            server_driver.serve(
                server,
                router,
                holds=_holds(part),
                chores=_chores(server, part.plan, output, log),
                canceled=lambda: canceled[0] if canceled else "",
            )
            save(output / "model.npz", server.model, server.whole)
            router.close(linger=2.0)


def build(part: ServerRole, log: RunLog) -> ParameterServer:
    """Make the parameter server of `part`, on this process's monotonic clock."""
    plan, initial = part.plan, None
    if part.initial:
        initial = saved_model.read(config.INITIAL, models.find(plan.model).layout)
    state, now = assembly.parameters(plan, initial), time.monotonic()
    return assembly.server(plan, state, log, now=now, gathering=part.gathering)


def _holds(part: ServerRole) -> dict[str, Hold[Any]]:
    """Make the holds that delay the messages of each node, by the node's name."""
    holds = {}
    for name, delay in part.holds.items():
        stream = chance.server_received_delay(part.plan.worker.seed, name)
        if hold := hold_for(delay.delay, delay.jitter, delay.setup, delay.pace, stream):
            holds[name] = hold
    return holds


def _chores(server: ParameterServer, plan: Plan, output: Path, log: RunLog) -> tuple[Chore, ...]:
    roll = Roll(server, output / FILE)
    if plan.checkpoint is None:
        return (roll,)
    return (roll, Checkpoints(server, plan.checkpoint, output / "checkpoint.npz", log))
