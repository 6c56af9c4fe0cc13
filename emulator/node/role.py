"""A container's part, run without any capability: a worker, the evaluator or the server."""

import json
import os
import signal
import sys
from typing import Any

from ..transport import node_driver  # before TensorFlow's library is opened, see learners/capi.py
from ..transport.peer import Peer
from . import config
from .config import EvaluatorRole, NodeConfig, ServerAddress, ServerRole, WorkerRole
from .supervisor import CONTROL


def main() -> None:
    node = config.read()
    incarnation = int(sys.argv[1])
    match node.part:
        case WorkerRole():
            work(node, node.part, incarnation)
        case EvaluatorRole():
            evaluate(node, node.part, incarnation)
        case ServerRole():
            from .server_role import serve  # its imports are not for a device's memory

            serve(node.part)


def work(node: NodeConfig, part: WorkerRole, incarnation: int) -> None:
    """Be a worker until the server says bye."""
    from ..core.assembly import WorkerAssembly
    from ..core.messages import ModelReply
    from ..core.worker import worker
    from ..datasets import shard
    from ..learners.device import DeviceLearner
    from ..learners.graph import read_layout

    layout = read_layout(config.GRAPH)
    assembly = WorkerAssembly(part.plan, layout)
    batches = assembly.batches(node.name, incarnation, shard.read(config.SHARD))
    learner = DeviceLearner(config.GRAPH, batches, part.plan.local)
    encoder = assembly.encoder(node.name, incarnation, batches)
    patience = part.connection.patience
    story = worker(node.name, incarnation, encoder, layout.size, patience, ModelReply)
    with _connect(part.connection) as peer:
        node_driver.run(
            story,
            peer,
            hold=_hold(part.connection, part.plan.seed, node.name, incarnation),
            learner=learner,
            holder=assembly.held_model(),
            strike=_striker(node, part, incarnation),
        )


def evaluate(node: NodeConfig, part: EvaluatorRole, incarnation: int) -> None:
    """Be the evaluator until the server says bye."""
    from ..core.evaluator import evaluator
    from ..learners.device import DeviceEvaluator
    from ..learners.graph import read_layout

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    size, patience = read_layout(config.GRAPH).size, part.connection.patience
    story = evaluator(node.name, incarnation, size, patience)
    with _connect(part.connection) as peer:
        node_driver.run(
            story,
            peer,
            hold=_hold(part.connection, part.seed, node.name, incarnation),
            evaluator=DeviceEvaluator(config.GRAPH, config.SHARD),
        )


def _connect(to: ServerAddress) -> Peer:
    return Peer(to.address, to.secret, to.heartbeat)


def _hold(to: ServerAddress, seed: int, name: str, incarnation: int) -> Any:
    from .. import chance
    from ..shaping.hold import hold_for

    stream = chance.received_delay(seed, name, incarnation)
    return hold_for(to.hold.delay, to.hold.jitter, stream)


def _striker(node: NodeConfig, part: WorkerRole, incarnation: int) -> Any:
    """What is done before each gradient: draw whether a fault strikes, and if so report it."""
    from .. import chance
    from ..faults import FAULTS
    from ..faults.hazard import Hazard
    from ..world import verbs

    hazard = Hazard(part.hazards, chance.hazard(part.plan.seed, node.name, incarnation))

    def strike() -> None:
        struck = hazard.strike()
        if struck is None:
            return
        kind, lasts = struck
        fault = FAULTS[kind]()
        begin, end = fault.begin(node.name).verb, fault.end(node.name).verb
        report = {"fault": kind, "begin": begin, "end": end, "lasts": lasts}
        os.write(int(os.environ[CONTROL]), json.dumps(report).encode() + b"\n")
        if verbs.row(begin).ends_process:
            signal.pause()  # the supervisor does the rest

    return strike if part.hazards else lambda: None


if __name__ == "__main__":
    main()
