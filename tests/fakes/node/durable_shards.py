"""A durable server of several shards, any of which may be killed at any write or message.

The shards are in this process, each with a folder; their sockets are queues. Devices pull from all
shards and push a part to each; they send pushes again over new connections.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from emulator import codecs
from emulator.core import assembly
from emulator.core.plan import Plan
from emulator.core.server.parameter_server import Driver
from emulator.core.server.staging import merged
from emulator.core.sharding.connected_follower import ConnectedFollower
from emulator.core.sharding.server_shards import LEADER, balanced_shards
from emulator.core.wire.messages import Hello, ModelSegment, Pull, Request, UpdateSegment
from emulator.learning.models import MODELS
from emulator.log.records import UpdateRecord
from emulator.node.durable.durable_follower import recovered_follower
from emulator.node.durable.logged_reports import LoggedReports
from emulator.node.durable.recovery import recovered
from emulator.node.durable.segment_file import SegmentWriter
from emulator.node.part.follower_role import FollowingServer
from emulator.transport.shard_link import FollowerLink, LeaderLinks


class Killed(BaseException):
    """The process of `shard` was killed; nothing in it may catch this."""

    def __init__(self, shard: int) -> None:
        self.shard = shard


class QueueSocket:
    """An end of a connection. `work` lets the other end do something while this end waits."""

    def __init__(self, strike: Any, work: Any = lambda: None) -> None:
        self.inbox: deque[bytes] = deque()
        self.peer: QueueSocket | None = None
        self._strike, self._work = strike, work

    def send(self, data: bytes, flags: int = 0) -> None:
        self._strike()
        if self.peer is not None:
            self.peer.inbox.append(data)
        self._strike()

    def poll(self, timeout: float) -> bool:
        if not self.inbox and timeout:
            self._work()
        return bool(self.inbox)

    def recv(self) -> bytes:
        return self.inbox.popleft()


@dataclass
class ShardedDevice:
    """A device whose pushes have losses that no other push has."""

    name: str
    ticket: int = 0
    pushes: list[UpdateSegment] = field(default_factory=list)
    """Since the last model."""
    broken: bool = False
    """Whether a connection broke since the last pull."""
    parts: dict[Any, ModelSegment] = field(default_factory=dict)
    last: float | None = None
    """Loss of the last push."""
    acknowledged: list[float] = field(default_factory=list)
    incarnation: int = 0
    greeted: bool = True
    """Whether a model came in this incarnation."""
    outbox: dict[int, "deque[Any]"] = field(default_factory=dict)


class DurableShards:
    """The shards of the server of `plan` in the folder `output`, and its devices."""

    def __init__(self, plan: Plan, output: Path, seed: int, kills: float) -> None:
        """`kills`: chance that a shard is killed before a write or a message, and behind it."""
        self.plan, self.output, self.dice = plan, output, Random(seed)
        self.layout = MODELS[plan.model].layout
        self.shards = balanced_shards(self.layout, plan.worker.shards)
        self.codec = codecs.make(plan.worker.codec)
        self.kills, self.killed, self.now = kills, [0] * len(self.shards), 100.0
        self._running: list[int] = []  # whose code runs, the innermost last
        self._losses = 0
        self.devices = {name: ShardedDevice(name) for name in plan.workers}
        for device in self.devices.values():
            device.outbox = {shard: deque() for shard in range(len(self.shards))}
        self.followers: dict[int, FollowingServer] = {}
        self.states: dict[int, ConnectedFollower] = {}
        self.journals: dict[int, Any] = {}
        self.ends: dict[int, QueueSocket] = {}  # of followers
        self.server: Any = None
        self.leaders: dict[int, QueueSocket] = {}
        for shard in range(LEADER + 1, len(self.shards)):
            self._boot(shard)
        self._boot(LEADER)

    @contextmanager
    def writes(self, patch: Any) -> Iterator[None]:
        """Let any write be a shard's last."""
        append = SegmentWriter.append

        def struck(writer: SegmentWriter, parts: Any) -> None:
            self._strike()
            append(writer, parts)
            self._strike()

        patch.setattr(SegmentWriter, "append", struck)
        yield

    def _strike(self) -> None:
        if self._running and self.dice.random() < self.kills:
            raise Killed(self._running[-1])

    def _in(self, shard: int, work: Any) -> Any:
        """Do `work` in the process of `shard`; return None if it was killed, and is back."""
        self._running.append(shard)
        try:
            return work()
        except Killed as killed:
            if killed.shard != shard:
                raise
        finally:
            self._running.pop()
        self._die(shard)
        self._boot(shard)
        return None

    def _die(self, shard: int) -> None:
        self.killed[shard] += 1
        ends = {shard: self.ends[shard]} if shard != LEADER else self.ends
        for number, end in ends.items():
            other = self.leaders.get(number)
            mine, theirs = (other, end) if shard == LEADER else (end, other)
            if mine is not None:
                mine.inbox.clear()
                mine.peer = None
            if theirs is not None:
                theirs.peer = None
                for _ in range(self.dice.randint(0, len(theirs.inbox))):
                    theirs.inbox.pop()  # the last words may not have left
        for device in self.devices.values():  # its connection with the shard has ended
            device.outbox[shard].clear()
            device.broken = True
            device.parts.clear()

    def _boot(self, shard: int) -> None:
        while True:
            self._running.append(shard)
            try:
                return self._lead() if shard == LEADER else self._follow(shard)
            except Killed as killed:
                assert killed.shard == shard
            finally:
                self._running.pop()
            self._die(shard)

    def _connect(self, shard: int) -> None:
        if shard in self.leaders and shard in self.ends:
            self.leaders[shard].peer, self.ends[shard].peer = self.ends[shard], self.leaders[shard]

    def _lead(self) -> None:
        if self.server is not None:
            self.server.journal._thread.shutdown()
        self.leaders = {
            shard: QueueSocket(self._strike, lambda n=shard: self._let_follow(n))
            for shard in self.ends
        }
        for shard in self.leaders:
            self._connect(shard)
        links = LeaderLinks(self.leaders, lambda: None)
        links._ask_at = NoWait()
        reports = LoggedReports(links)
        given = Driver(gathering=None)
        self.server, self.log = recovered(
            self.output,
            self.plan,
            lambda log: assembly.leader(self.plan, log, self.now, given, reports),
            reports=reports,
        )

    def _follow(self, shard: int) -> None:
        if shard in self.journals:
            self.journals[shard]._thread.shutdown()
        folder = self.output / str(shard)
        folder.mkdir(exist_ok=True)
        state = self.follower(shard)
        self.journals[shard] = recovered_follower(folder, state)
        end = self.ends[shard] = QueueSocket(self._strike)
        self._connect(shard)
        link = FollowerLink(end, lambda: None)
        self.followers[shard] = FollowingServer(state, link, self.journals[shard])
        self.states[shard] = state

    def follower(self, shard: int) -> ConnectedFollower:
        """Return the follower `shard` as at the run's start."""
        return ConnectedFollower(assembly.follower(self.plan, shard), durable=True)

    def restart(self, shard: int) -> None:
        """Kill `shard`, and let it come back."""
        self._die(shard)
        self._boot(shard)

    def _let_follow(self, shard: int) -> None:
        replies = self._in(shard, lambda: self.followers[shard].tick(self.now))
        for node, reply in replies or []:
            self._hear(node, reply)

    # -- devices ---------------------------------------------------------------------------------

    def begin(self) -> None:
        for name in self.devices:
            self._tell_leader(Hello(name, 0))
            while name in self.server.missing:
                self._tell_leader(Hello(name, 0))
        for device in self.devices.values():
            self._pull(device)

    def step(self) -> None:
        """Let one message arrive, or a shard look around."""
        self.now += self.dice.random() / 100
        waiting = [
            (device, shard)
            for device in self.devices.values()
            for shard, queue in device.outbox.items()
            if queue
        ]
        if waiting and self.dice.random() < 0.7:
            device, shard = self.dice.choice(waiting)
            message = device.outbox[shard].popleft()
            if shard == LEADER:
                self._tell_leader(message)
            else:
                self._in(
                    shard, lambda: self.followers[shard].handle(device.name, message, self.now)
                )
        elif self.dice.random() < 0.5:
            self._let_follow(self.dice.choice([*self.followers]))
        else:
            self._take(self._in(LEADER, lambda: self.server.tick(self.now)))
        if self.dice.random() < 0.01:
            self._reboot(self.dice.choice([*self.devices.values()]))
        for device in self.devices.values():
            if device.broken:
                self._pull(device)  # over its new connections

    def _reboot(self, device: ShardedDevice) -> None:
        """Let `device` lose all that it has not sent, perhaps some parts of a push."""
        device.incarnation, device.greeted = device.incarnation + 1, False
        device.ticket = device.incarnation << 32
        device.pushes, device.last = [], None
        for queue in device.outbox.values():
            queue.clear()
        device.outbox[LEADER].append(Hello(device.name, device.incarnation))
        self._pull(device)

    def look_around(self) -> None:
        """Let all shards take what they were told."""
        self._take(self._in(LEADER, lambda: self.server.tick(self.now)))
        for shard in self.followers:
            self._let_follow(shard)

    def _tell_leader(self, message: Any) -> None:
        self._take(self._in(LEADER, lambda: self.server.handle(message.node, message, self.now)))

    def _take(self, replies: Any) -> None:
        for node, reply in replies or []:
            self._hear(node, reply)

    def _pull(self, device: ShardedDevice) -> None:
        device.ticket += 1
        device.parts.clear()
        again: list[Request] = [*device.pushes] if device.broken else []
        if device.broken and not device.greeted:  # nobody knows whether the hello has come
            again.insert(0, Hello(device.name, device.incarnation))
        device.broken = False
        pull = Pull(device.name, device.ticket, segments=self.shards.segments)
        messages: list[Request] = [*again, pull]
        for message in messages:
            for shard in self.shards.receivers(message):
                device.outbox[shard].append(message)

    def _hear(self, node: str, reply: Any) -> None:
        device = self.devices[node]
        if not isinstance(reply, ModelSegment) or reply.ticket != device.ticket or device.broken:
            return
        device.parts[reply.segment] = reply
        device.pushes, device.greeted = [], True
        if len(device.parts) < len(self.shards):
            return
        assert len({part.version for part in device.parts.values()}) == 1
        if device.last is not None:
            device.acknowledged.append(device.last)
        self._losses += 1
        device.last = float(self._losses)
        frames = encoded(self.codec, self.layout, self.shards, device.last)
        device.pushes = [
            UpdateSegment(node, reply.version, device.ticket, segment, device.last, 0.1, own)
            for segment, own in frames.items()
        ]
        for message in device.pushes:
            device.outbox[self.shards.number(message.segment)].append(message)
        self._pull(device)


class NoWait(dict[int, float]):
    """Times of the next question that have always come."""

    def __getitem__(self, shard: int) -> float:
        return 0.0


def encoded(codec: Any, layout: Any, shards: Any, loss: float) -> dict[Any, Any]:
    """Return the frames of each part of the gradient that is drawn by its `loss`."""
    whole = np.random.default_rng(int(loss)).standard_normal(layout.size, np.float32)
    return {
        segment: codec.start(
            codecs.EncoderContext(layout.part(segment), np.random.default_rng(0))
        ).encode(whole[layout.place(segment)])
        for segment in reversed(shards.segments)
    }


def model_of(plan: Plan, updates: Sequence[UpdateRecord]) -> Any:
    """Return the model that `updates`, whose gradients are drawn by their losses, make one after
    the other of the first model of `plan`, in one process."""
    state, layout = assembly.parameters(plan), MODELS[plan.model].layout
    shards, codec = balanced_shards(layout, plan.worker.shards), codecs.make(plan.worker.codec)
    for update in updates:
        assert update.loss is not None
        parts = encoded(codec, layout, shards, update.loss)
        decoded = [
            (layout.place(segment), codec.decode(frames, layout.part(segment)))
            for segment, frames in parts.items()
        ]
        pulled = update.version - 1 - update.staleness
        state.apply([(merged(decoded), pulled)])
    return state.snapshot()
