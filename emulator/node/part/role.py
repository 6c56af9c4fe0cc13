"""The process of a container's part: a worker, the evaluator or the server. Has no capability."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from ...shaping.hold import Hold, hold_for

# before TensorFlow's library is opened, see learners/capi.py
from ...transport import node_driver
from ...transport.inbox import Inbox
from ...transport.node_driver import Farewell, RunObserver
from ...transport.peer import Garble, Peer, as_they_are
from ...transport.shard_peers import ShardPeers
from ...transport.work import Work
from ...vectors import Buffer
from ...world.emulated_clock import EmulatedClock
from .. import config
from ..config import (
    GOODBYE,
    KEPT,
    EvaluatorRole,
    NodeConfig,
    RelayRole,
    ServerAddress,
    ServerRole,
    WorkerRole,
)
from ..link.hold_changes import OwnHold
from ..orders import PartOrders
from ..reports import BegunReport, DrawnReport, PartReport, RecordReport, encode
from .part_process import CONTROL

if TYPE_CHECKING:
    from ...core.sharding.server_shards import ServerShards
    from ...learning.learners.batches import Batches
    from ...log.records.plan_records import IterationRecord, PlanRecord
    from .worker_parts import PartFaults, WorkerParts


def main() -> None:
    node = config.read()
    incarnation = int(sys.argv[1])
    # behind all other places, so that no module of a plugin stands in for one of the image
    sys.path.append(str(config.PLUGINS / "installed"))
    match node.part:
        case WorkerRole():
            from .presser import die_first

            die_first()  # and not the supervisor, which reports it
            work(node, node.part, incarnation, goes_on=KEPT in sys.argv[2:])
        case EvaluatorRole():
            evaluate(node, node.part, incarnation)
        case ServerRole():
            from .server_role import serve  # not at the top: it costs a device memory

            serve(node.part, clock=node.clock)
        case RelayRole():
            from .relay_role import pass_on

            pass_on(node.part, node.clock)


def work(node: NodeConfig, part: WorkerRole, incarnation: int, *, goes_on: bool) -> None:
    """Run the worker of this device until the server says bye.

    A device that `goes_on` has kept its state over a loss of power.
    """
    from ...core.assembly import WorkerAssembly
    from ...learning.datasets import shard
    from ...learning.learners.graph import read_layout
    from .worker_parts import worker_parts

    assembly = WorkerAssembly(part.plan, read_layout(config.GRAPH))
    batches = assembly.batches(node.name, incarnation, shard.read(config.SHARD))
    scheduler = assembly.scheduler(node.name, part.prior, _report) if part.prior else None
    orders = PartOrders()
    faults = _part_faults(node, part, incarnation, orders)
    parts = worker_parts(node, incarnation, part, assembly, scheduler, batches, faults)
    hold = _hold(part.connection, part.plan.seed, node.name, incarnation)
    before_hold = OwnHold(hold, part.connection.hold, orders).look if hold else _nothing
    garble = _garble(part, node.name, incarnation, orders)
    with _connect(part.connection, node.clock, garble, assembly.shards) as peer:
        node_driver.run(
            parts.coroutine,
            peer,
            parts.work,
            inbox=Inbox(peer, hold, before_hold),
            held_model=assembly.held_model(),
            computing=Farewell(node.name, peer, GOODBYE).computing,
            observer=RunObserver(
                begun=_report_zero if part.battery else lambda zero: None,
                pushed=_stored(parts, batches, goes_on) if part.keeps else _nothing,
            ),
            durable=part.plan.form.durable,
        )


def _stored(parts: "WorkerParts", batches: "Batches", goes_on: bool) -> Callable[[], None]:
    """Go on from the stored state if the device `goes_on`; return the function that stores it."""
    from .worker_parts import KeptFile

    assert parts.encoder is not None  # `check` has refused other workers
    state = KeptFile(parts.encoder, batches)
    if goes_on:
        state.go_on()
    else:
        state.forget()
    return state.store


def evaluate(node: NodeConfig, part: EvaluatorRole, incarnation: int) -> None:
    """Run the evaluator until the server says bye."""
    from ...core.worker.worker import evaluator
    from ...learning.learners.device import DeviceEvaluator
    from ...learning.learners.graph import read_layout

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    size, timeout = read_layout(config.GRAPH).size, part.connection.timeout
    coroutine = evaluator(node.name, incarnation, size, timeout)
    with _connect(part.connection, node.clock) as peer:
        node_driver.run(
            coroutine,
            peer,
            Work(DeviceEvaluator(config.GRAPH, config.SHARD), node.clock),
            inbox=Inbox(peer, _hold(part.connection, part.seed, node.name, incarnation)),
            durable=part.durable,
        )


def _connect(
    connection: ServerAddress,
    clock: EmulatedClock,
    garble: Garble = as_they_are,
    shards: "ServerShards | None" = None,
) -> Peer | ShardPeers:
    """Connect with the server, or with each of its `shards`."""
    how = connection.secret, connection.heartbeat

    def peer(address: str) -> Peer:
        return Peer(address, *how, checked=connection.checked, garble=garble, clock=clock)

    first = peer(connection.address)
    return ShardPeers([first, *map(peer, connection.others)], shards) if shards else first


def _garble(part: WorkerRole, name: str, incarnation: int, orders: PartOrders) -> Garble:
    """Return a function that flips bits in messages as the supervisor orders."""
    if not part.connection.checked:
        return as_they_are
    from ...world.faults.corrupt import VERB, Garbler

    garbler = Garbler(part.plan.seed, name, incarnation)

    def garble(frames: Sequence[Buffer]) -> Sequence[Buffer]:
        struck = garbler.strikes(orders.settings().get(VERB))
        return garbler.garble(frames) if struck else frames

    return garble


def _hold(connection: ServerAddress, seed: int, name: str, incarnation: int) -> Hold[Any] | None:
    """Make the hold of messages from the server; None if nothing is left to the receiver."""
    from ... import chance

    hold = connection.hold
    stream = chance.received_delay(seed, name, incarnation)
    return hold_for(hold.delay, hold.jitter, hold.setup, hold.pace, stream, connection.changing)


def _nothing() -> None:
    pass


def _part_faults(
    node: NodeConfig, part: WorkerRole, incarnation: int, orders: PartOrders
) -> "PartFaults":
    """Make the player of the faults that the worker plays itself."""
    from ...world.faults.self_played import SelfPlayed
    from .worker_parts import PartFaults

    played = SelfPlayed(part.plan.seed, node.name, incarnation)
    return PartFaults(orders, played, _fault_draws(node, part, incarnation), node.clock)


def _fault_draws(node: NodeConfig, part: WorkerRole, incarnation: int) -> Callable[[], None]:
    """Return a function that draws, once an iteration, whether a fault strikes this device.

    A fault that strikes is reported to the supervisor, which applies it.
    """
    from ...world import verbs
    from ...world.faults import Hazard

    hazard = Hazard(part.hazards, part.plan.seed, node.name, incarnation)

    def draw() -> None:
        struck = hazard.strike()
        if struck is None:
            return
        begin, end, lasts = struck
        _tell(DrawnReport(begin.fault, begin.verb, end.verb, lasts, begin.setting))
        if verbs.row(begin.verb).ends_process:
            signal.pause()  # until the supervisor ends this process

    return draw if part.hazards else lambda: None


def _report(record: "PlanRecord | IterationRecord") -> None:
    """Hand a scheduler's `record` to the supervisor, which reports the record to the conductor."""
    _tell(RecordReport(Raw(encode(record))))


def _report_zero(zero: float) -> None:
    _tell(BegunReport(zero))


def _tell(report: PartReport) -> None:
    """Write `report` to the supervisor.

    A line that an earlier part was killed in ends before it.
    """
    left = b"\n" + encode(report) + b"\n"
    while left:  # the supervisor may be slow to read a long line
        left = left[os.write(int(os.environ[CONTROL]), left) :]


if __name__ == "__main__":
    main()
