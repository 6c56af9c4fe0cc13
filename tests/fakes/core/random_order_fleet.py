"""The workers' coroutines and the server, driven in random order: no clock, no network.

Messages of one node keep their order, all else is chance. Time stands still while anything is under
way; once all wait it jumps to the server's deadline.
"""

import io
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import numpy as np

from emulator.chance import stream
from emulator.codecs import AnyCodec, Dense, EncoderContext, SegmentEncoder, encoder
from emulator.core.server.parameters import Parameters, State
from emulator.core.sharding.part_staging import GatheredRequests
from emulator.core.sharding.server_shards import balanced_shards
from emulator.core.sharding.sharded_state import ShardedState
from emulator.core.wire.messages import (
    Message,
    ModelReply,
    ModelSegment,
    Update,
    UpdateSegment,
)
from emulator.core.worker.layered_worker import layered_worker
from emulator.core.worker.sharded_worker import sharded_worker
from emulator.core.worker.worker import (
    Await,
    Backward,
    Compute,
    Computed,
    Forward,
    NodeCoroutine,
    Tell,
    worker,
)
from emulator.errors import WireError
from emulator.layout import Layout, Segment, Variable
from emulator.learning.learners.batches import Batches, descend, draw
from emulator.log.lines import RunLog
from emulator.modulation import AnyModulation, Constant
from emulator.optimizers import SGD, AnyOptimizer
from emulator.schedules import Cuts
from emulator.synchronization import AnySynchronization, local_training
from emulator.vectors import Frames, Vector
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import made_server
from tests.fakes.core.random_moves import RandomMoves
from tests.fakes.core.shard_queues import ShardQueues

SIZE = 12
LAYOUT = Layout((Variable("v", (SIZE,), "dense", 0),))
LAYERS = Layout(
    tuple(Variable(f"v{n}", (size,), "dense", n) for n, size in enumerate((4, 1, 5, 2)))
)
"""The same parameters in four layers."""
RATE = 0.05


class Squares:
    """Least squares on a device's own examples."""

    def __init__(self, node: str, examples: int) -> None:
        dice = stream(f"squares/{node}")
        self.x = dice.standard_normal((examples, SIZE)).astype(np.float32)
        truth = np.arange(SIZE, dtype=np.float32)
        noise = dice.standard_normal(examples).astype(np.float32)
        self.y = self.x @ truth + np.float32(0.1) * noise

    def __len__(self) -> int:
        return len(self.y)

    def gradient(self, theta: Vector, which: Any) -> tuple[Vector, float]:
        error = self.x[which] @ theta - self.y[which]
        loss = float(error @ error) / (2 * len(error))
        return self.x[which].T @ error / np.float32(len(error)), loss


@dataclass
class Planned:
    """A scheduler that draws the cuts of every iteration."""

    draw: Callable[[], Cuts]

    def cuts(self) -> Cuts:
        return self.draw()


class Observer(Protocol):
    def __call__(self, event: str, node: str) -> None: ...


@dataclass
class Device:
    coroutine: NodeCoroutine[ModelReply] | NodeCoroutine[ModelSegment]
    inbox: deque[Message] | ShardQueues = field(default_factory=deque)
    outbox: deque[Message] | ShardQueues = field(default_factory=deque)
    work: Vector | ModelSegment | Backward | None = None
    listens: bool = False
    pieces: list[ModelSegment] = field(default_factory=list)
    """Of the present iteration, if it is cut."""
    gradient: tuple[Vector, float] | None = None
    """At these pieces, once it is computed."""


class Fleet(RandomMoves):
    """A server with workers. `observe` is called with `update` or `pull`, and the node."""

    def __init__(
        self,
        synchronization: AnySynchronization,
        examples: Mapping[str, int],
        *,
        updates: int,
        batch_size: int | None = 4,
        codec: AnyCodec | None = None,
        modulation: AnyModulation | None = None,
        optimizer: AnyOptimizer | None = None,
        seed: int = 0,
        observe: Observer = lambda event, node: None,
        cuts: Callable[[], Cuts] | None = None,
        shards: int = 0,
    ) -> None:
        """A `batch_size` of None means all examples of a device.

        `cuts` returns the next iteration's; without it, models and updates travel whole, or in a
        part to each of the `shards`, if there are any.
        """
        self.cuts, self.layout = cuts, LAYERS if cuts or shards else LAYOUT
        self.shards = balanced_shards(LAYERS, shards) if shards else None
        self.gathered = GatheredRequests(self.shards) if self.shards else None
        self.dice, self.now, self.observe = Random(seed), 0.0, observe
        self.data = {node: Squares(node, count) for node, count in examples.items()}
        self.batches = {
            node: Batches(data, batch_size or len(data), f"{seed}/{node}")  # type: ignore[arg-type]
            for node, data in self.data.items()
        }
        self.local, self.codec = local_training(synchronization, RATE), codec or Dense()
        self.log = io.BytesIO()
        whole = (1, len(self.layout.layers))
        parts = [
            Parameters(
                np.zeros(layout.size, np.float32),
                RATE,
                (modulation or Constant()).start(layout),
                optimizer=optimizer or SGD(),
            )
            for layout in map(self.layout.part, self.shards.segments if self.shards else [whole])
        ]
        state: State = ShardedState(parts) if self.shards else parts[0]
        self.server = made_server(
            state,
            layout=self.layout,
            shards=self.shards,
            codec=self.codec,
            synchronizer=synchronization.start(frozenset(examples), seed, examples),
            workers=examples,
            evaluator=None,
            stop=Stop(updates=updates),
            log=RunLog(self.log),
            now=self.now,
        )
        self.devices: dict[str, Device] = {}
        for node in examples:
            self.boot(node, 0)

    @property
    def theta(self) -> Vector:
        return self.server.parameters.snapshot()

    def boot(self, node: str, incarnation: int) -> None:
        place = EncoderContext(self.layout, stream(f"codec/{node}/{incarnation}"))
        device = self.devices[node] = Device(self._coroutine(node, incarnation, place))
        if self.shards:
            device.inbox = ShardQueues(self.shards, self.dice, out=False)
            device.outbox = ShardQueues(self.shards, self.dice, out=True)
        self.live(node, None)

    def _coroutine(self, node: str, incarnation: int, place: EncoderContext) -> Any:
        if self.shards:
            parts = _PartsEncoder(SegmentEncoder(self.codec, place), LAYERS)
            given = parts, self.shards, LAYERS, 1e9, ModelSegment, joined
            return sharded_worker(node, incarnation, *given)
        if self.cuts is None:
            coder = encoder(self.codec, place, False)
            return worker(node, incarnation, coder, SIZE, 1e9, ModelReply)
        pieces, plan = SegmentEncoder(self.codec, place), Planned(self.cuts)
        return layered_worker(node, incarnation, plan, pieces, LAYERS, 1e9, ModelSegment)

    def kill(self, node: str) -> None:
        del self.devices[node]

    def wait(self) -> None:
        due = self.server.deadline()
        assert due is not None, "everyone waits, and nobody knows for what"
        self.now = max(self.now, due)
        self._deliver(self.server.tick(self.now))

    def worked(self, node: str, work: Any) -> Computed[Vector] | None:
        device = self.devices[node]
        match work:
            case ModelSegment():
                device.pieces = [] if work.segment[0] == 1 else device.pieces
                device.pieces.append(work)
                device.gradient = None
                return None
            case Backward(segment):
                if device.gradient is None:
                    self.observe("pieces", node)
                    theta = np.concatenate([piece.theta for piece in device.pieces])
                    device.gradient = self._descended(node, theta)
                gradient, loss = device.gradient
                return Computed(gradient[self.layout.place(segment)], loss, 0.01)
        return Computed(*self._descended(node, work), 0.01)

    def _descended(self, node: str, theta: Vector) -> tuple[Vector, float]:
        batches = [(drawn.numbers,) for drawn in draw(self.batches[node], self.local)]
        return descend(self.data[node].gradient, theta, batches, self.local.rate)

    def serve(self, node: str, message: Any) -> None:
        if self.gathered:
            message, shard = message
            if not self.gathered.complete(message, shard):
                return
        try:
            replies = self.server.receive(message, self.now)
        except WireError as error:
            assert self.cuts and "expected layers" in str(error)
            return  # a piece was lost with its connection
        if self.shards:
            if isinstance(message, UpdateSegment):
                self.observe("part", node)
        elif isinstance(message, Update) or _completes(message):
            self.observe("update", node)
        self._deliver(replies)

    def _deliver(self, replies: Any) -> None:
        for node, reply in replies:
            if isinstance(reply, ModelReply) or (
                isinstance(reply, ModelSegment) and reply.segment[0] == 1
            ):
                self.observe("pull", node)
            if node in self.devices:
                self.devices[node].inbox.append(reply)

    def live(self, node: str, outcome: Any) -> None:
        device = self.devices[node]
        device.listens = False
        try:
            while True:
                command = device.coroutine.send(outcome)
                outcome = None
                match command:
                    case Tell(message):
                        device.outbox.append(message)
                    case Await():
                        device.listens = True
                        return
                    case Compute(reply):
                        device.work = reply.theta
                        return
                    case Forward(reply):
                        device.work = reply
                        return
                    case Backward():
                        device.work = command
                        return
        except StopIteration:
            pass


def joined(parts: Sequence[ModelSegment]) -> ModelReply:
    """Return the model of the `parts` of all shards."""
    theta = np.concatenate([part.theta for part in parts])
    return ModelReply(parts[0].ticket, parts[0].version, theta)


@dataclass
class _PartsEncoder:
    """Encodes the segments of a whole gradient."""

    encoder: SegmentEncoder
    layout: Layout

    def encode(self, segment: Segment, gradient: Vector) -> Frames:
        return self.encoder.encode(segment, gradient[self.layout.place(segment)])


def _completes(message: Message) -> bool:
    return isinstance(message, UpdateSegment) and message.segment[0] == 1
