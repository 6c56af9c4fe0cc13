"""The server's part: the core on a socket, its log and its checkpoints on disk."""

import signal
import time
from pathlib import Path

from .. import chance, codecs, models, modulation, optimizers, pulls, synchronization
from ..core.parameters import Parameters
from ..core.server import ParameterServer, Stop
from ..log.writing import RunLog
from ..transport import drive
from ..transport.router import Router
from ..transport.secrets import Keys
from . import config
from .checkpoint import Checkpoints, save
from .config import ENDINGS, PORT, NodeConfig, ServerRole
from .roll import FILE, Roll

SLACK = 65536
"""Bytes that the largest honest frame may exceed the dense model by."""


def serve(
    node: NodeConfig, part: ServerRole, output: Path = config.OUTPUT, port: int = PORT
) -> None:
    """Serve until the run is over; leaves `run.jsonl` and `model.npz` in `output`."""
    model = models.find(part.model)
    canceled: list[str] = []
    for reason, number in ENDINGS.items():
        signal.signal(number, lambda *heard, reason=reason: canceled.append(reason))
    largest = 4 * model.layout.size + SLACK
    with (output / "run.jsonl").open("ab", buffering=0) as sink:
        log = RunLog(sink)
        server = build(node, part, log, now=time.monotonic())
        with Router(f"tcp://*:{port}", part.guests, part.heartbeat, largest) as router:
            drive.serve(
                server,
                router,
                holds=_holds(node, part),
                chores=_chores(server, part, output, log),
                canceled=lambda: canceled[0] if canceled else "",
            )
            save(output / "model.npz", server.parameters.snapshot(), server.version, model.layout)
            router.close(linger=2.0)


def build(node: NodeConfig, part: ServerRole, log: RunLog, now: float) -> ParameterServer:
    """The core as the configuration asks for it."""
    model = models.find(part.model)
    modulator = modulation.make(part.modulation).start(model.layout)
    optimizer = optimizers.make(part.optimizer)
    policy = synchronization.make(part.synchronization)
    initial = model.initial(node.seed)
    return ParameterServer(
        Parameters(initial, part.learning_rate, modulator, optimizer=optimizer),
        layout=model.layout,
        codec=codecs.make(part.codec),
        synchronizer=policy.start(frozenset(part.workers), node.seed, part.examples),
        workers=part.workers,
        evaluator=part.evaluator or None,
        every=part.every,
        stop=Stop(**part.stop),
        log=log,
        now=now,
        encrypted=isinstance(part.guests, Keys),
        pulls=pulls.make(part.pull).start(model.layout),
        gathering=part.gathering,
    )


def _holds(node: NodeConfig, part: ServerRole) -> dict[str, drive.Held]:
    holds = {
        name: drive.holding(held.delay, held.jitter, chance.server_received_delay(node.seed, name))
        for name, held in part.holds.items()
    }
    return {name: hold for name, hold in holds.items() if hold is not None}


def _chores(
    server: ParameterServer, part: ServerRole, output: Path, log: RunLog
) -> tuple[drive.Chore, ...]:
    roll = Roll(server, output / FILE)
    if part.checkpoint is None:
        return (roll,)
    return (roll, Checkpoints(server, part.checkpoint, output / "checkpoint.npz", log))
