"""The server's part: the parameter server on a socket, with its log and checkpoints on disk."""

import signal
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

from ... import chance, schedules
from ...core import assembly
from ...core.assembly import cut_exchange
from ...core.cut.activation_values import crossing_bytes
from ...core.cut.cut_exchange import CutExchange
from ...core.plan import Plan
from ...core.server.parameter_server import Chore, Driver
from ...core.server.snapshot_exchange import Keep
from ...core.sharding.connected_follower import ConnectedFollower
from ...core.sharding.server_shards import LEADER
from ...core.zmtp import Heartbeat
from ...learning import models
from ...learning.models import Model, saved_model
from ...learning.models.saved_model import SavedModel
from ...log.lines import RunLog
from ...shaping.hold import Hold, hold_for
from ...transport import server_driver
from ...transport.router import Router
from ...transport.shard_link import FollowerLink, LeaderLinks
from ...world.emulated_clock import UNDILATED, EmulatedClock
from .. import config
from ..config import ENDINGS, PORT, ServerRole
from ..durable.durable_follower import recovered_follower
from ..durable.durable_server import DurableServer, Lasting
from ..durable.logged_reports import LoggedReports
from ..durable.recovery import Resumed, recovered
from ..link.hold_changes import DevicesHolds
from ..orders import PartOrders
from .follower_role import FollowingServer
from .kept_versions import KeptVersions
from .server_chores import HELLOS, Checkpoints, ConductorsHello, Roll, save

WHOLE = schedules.plain(schedules.Sequential())
"""The schedule with which models and updates travel whole."""

_MODEL = "model.npz"
SLACK = 65536
"""Bytes by which the largest honest frame may exceed the dense model, or the activations."""


def serve(
    part: ServerRole,
    output: Path = config.OUTPUT,
    port: int = PORT,
    graph: Path = config.GRAPH,
    clock: EmulatedClock = UNDILATED,
) -> None:
    """Serve until the run is over; write `run.jsonl` and `model.npz` to the folder `output`.

    Of a shard that follows, `output` has its state alone: the one that leads has log and model.
    """
    models.register_own(graph)
    canceled: list[str] = []
    for reason, number in ENDINGS.items():
        signal.signal(number, lambda *_, reason=reason: canceled.append(reason))
    if part.shard == LEADER:
        _lead(part, output, port, clock, canceled)
    else:
        _follow(part, output, port, clock, canceled)


def _follow(
    part: ServerRole, output: Path, port: int, clock: EmulatedClock, canceled: list[str]
) -> None:
    """Serve as a shard that follows, until the leader ends the run."""
    durable = part.plan.durability is not None
    follower = assembly.follower(part.plan, part.shard, _saved(part))
    shard = ConnectedFollower(follower, durable=durable)
    holds = _holds(part)
    with ExitStack() as opened:
        journal = recovered_follower(output, shard) if durable else None
        if journal:
            opened.callback(journal.close)
        link = opened.enter_context(closing(FollowerLink.connected(config.SHARDS, part.shard)))
        with _router(part, port, clock) as router:
            router.wake_for(link.socket)
            server_driver.serve(
                FollowingServer(shard, link, journal),
                router,
                holds=holds,
                chores=_changes(part, holds, PartOrders()),
                canceled=lambda: canceled[0] if canceled else "",
            )
            router.close(linger=2.0)


def _router(part: ServerRole, port: int, clock: EmulatedClock) -> Router:
    plan, model = part.plan, models.find(part.plan.model)
    largest = largest_frame(plan, model) + SLACK
    checked, cut = plan.worker.form.checked, plan.worker.cut is not None
    admitted = part.guests, part.heartbeat, largest, pieces(plan, model)
    return Router(f"tcp://*:{port}", *admitted, checked=checked, cut=cut, clock=clock)


def _saved(part: ServerRole) -> SavedModel | None:
    """Read the model of `training.initial`. Return None if the scenario names no file."""
    if not part.initial:
        return None
    return saved_model.read(config.INITIAL, models.find(part.plan.model).layout)


def _lead(
    part: ServerRole, output: Path, port: int, clock: EmulatedClock, canceled: list[str]
) -> None:
    """Serve as the server, or as its shard that leads."""
    keep = KeptVersions(output).keep if part.plan.kept else None
    with ExitStack() as opened:
        server: Lasting | DurableServer
        links, reports = None, None
        if part.plan.worker.shards > 1:
            links = LeaderLinks.bound(config.SHARDS, part.plan.worker.shards)
            opened.callback(links.close)
            reports = LoggedReports(links)
        made = partial(build, part, clock=clock, keep=keep, reports=reports)
        if part.plan.durability is None:
            sink = opened.enter_context((output / "run.jsonl").open("ab", buffering=0))
            log = RunLog(sink)
            server = made(log)
            if reports:
                reports.open(None)
        else:
            resumed = Resumed(part.resumes, part.resumed_at)
            server, log = recovered(output, part.plan, made, resumed, clock, reports)
            opened.callback(server.close)
        # a leader that died behind its last write: the others have ended, and tell it no model
        written = server.over and (output / _MODEL).is_file()
        holds = _holds(part)
        checkpoints = None
        if part.plan.checkpoint is not None:
            thread = opened.enter_context(ThreadPoolExecutor(1))
            path = output / "checkpoint.npz"
            checkpoints = Checkpoints(server, part.plan.checkpoint, path, log, thread)
        orders = PartOrders()
        chores: list[Chore] = [Roll(server, output / HELLOS), *_changes(part, holds, orders)]
        with _router(part, port, clock) as router:
            for socket in links.sockets.values() if links else ():
                router.wake_for(socket)
            server_driver.serve(
                server,
                router,
                holds=holds,
                chores=(*chores, *([checkpoints] if checkpoints else [])),
                messenger=ConductorsHello(server, orders) if part.plan.conducted else None,
                canceled=lambda: canceled[0] if canceled else "",
            )
            if checkpoints:
                checkpoints.finish()
            if not written:
                save(output / _MODEL, server.model, server.whole)
            if links:
                links.end()
            router.close(linger=2.0)


def build(
    part: ServerRole,
    log: RunLog,
    clock: EmulatedClock = UNDILATED,
    keep: Keep | None = None,
    reports: LoggedReports | None = None,
) -> Lasting:
    """Make the parameter server of `part`, on this process's `clock`; `keep` stores the versions
    that are measured after the run, and `reports` are those of the shards that it leads."""
    initial = config.INITIAL if part.initial else None
    driven = part.gathering, clock, keep, reports
    return from_plan(part.plan, log, initial, config.GRAPH, *driven)


def from_plan(
    plan: Plan,
    log: RunLog,
    initial: Path | None,
    graph: Path,
    gathering: float | None = None,
    clock: EmulatedClock = UNDILATED,
    keep: Keep | None = None,
    reports: LoggedReports | None = None,
) -> Lasting:
    """Make the parameter server of `plan`, which writes to `log`, as at the run's start.

    `initial`: file of the saved model that the run begins with, or None; `graph`: folder of the
    exported model, read if the model is cut; `gathering` and `keep` as `Driver` has them; `reports`
    as in `build`.
    """
    layout = models.find(plan.model).layout
    saved = None if initial is None else saved_model.read(initial, layout)
    if reports is not None:
        driver = Driver(gathering, Heartbeat().interval, keep)
        return assembly.leader(plan, log, clock.now(), driver, reports, saved)
    state = assembly.parameters(plan, saved)
    cut = _cut_exchange(plan, saved, graph) if plan.worker.cut else None
    now = clock.now()  # behind the start of the learner, which takes seconds
    # no device that is alive connects more often than the heartbeat beats
    driver = Driver(gathering, Heartbeat().interval, keep)
    return assembly.server(plan, state, log, now, driver, cut=cut)


def _cut_exchange(plan: Plan, initial: SavedModel | None, graph: Path) -> CutExchange:
    """Make the exchange of activations, with a learner of the model in `graph` in this process.

    A pass occupies the process, as the server has one core: messages wait in libzmq, whose own
    thread answers the nodes' heartbeats meanwhile.
    """
    from ...learning.learners.device import server_part  # not at the top: TensorFlow takes memory

    assert plan.worker.cut is not None
    learner = server_part(graph, plan.worker.cut.layer)
    return cut_exchange(plan, learner, assembly.server_parameters(plan, initial))


def pieces(plan: Plan, model: Model) -> int:
    """Return the number of messages in which a model may travel."""
    return 1 if plan.worker.schedule == WHOLE else len(model.layout.layers)


def largest_frame(plan: Plan, model: Model) -> int:
    """Return the bytes of the largest frame of an honest device: its dense update, or activations.

    A mini-batch of the whole `batch_size` bounds that of a device in a compute group.
    """
    worker = plan.worker
    update = 4 * assembly.held_layout(worker, model.layout).size
    return max(update, crossing_bytes(model, worker.cut, worker.batch_size).largest)


def _holds(part: ServerRole) -> dict[str, Hold[Any]]:
    """Make the holds that delay the messages of the nodes, by the node's name."""
    holds = {}
    for name, delay in part.holds.items():
        stream = chance.server_received_delay(part.plan.worker.seed, name)
        times = delay.delay, delay.jitter, delay.setup, delay.pace
        if hold := hold_for(*times, stream, part.changing):
            holds[name] = hold
    return holds


def _changes(
    part: ServerRole, holds: Mapping[str, Hold[Any]], orders: PartOrders
) -> tuple[Chore, ...]:
    """Make the chore that changes `holds` by order of the supervisor, if faults may change any."""
    return (DevicesHolds(holds, orders),) if part.changing else ()
