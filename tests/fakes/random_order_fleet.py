"""The workers' coroutines and the server, driven in random order: no clock, no network.

Messages of one node keep their order, all else is chance. Time stands still while anything is under
way; once all wait it jumps to the server's deadline.
"""

import io
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import numpy as np

from emulator.chance import stream
from emulator.codecs import AnyCodec, Dense, EncoderContext, encoder
from emulator.core.messages import Message, ModelReply, Update
from emulator.core.parameters import Parameters
from emulator.core.plan import Stop
from emulator.core.server import ParameterServer
from emulator.core.worker import Await, Compute, Computed, NodeCoroutine, Tell, worker
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.learners.batches import Batches
from emulator.learners.local_steps import descend, draw
from emulator.log.writing import RunLog
from emulator.modulation import AnyModulation, Constant
from emulator.optimizers import SGD, AnyOptimizer
from emulator.synchronization import AnySynchronization, local_training
from emulator.vectors import Vector

SIZE = 12
LAYOUT = Layout((Variable("v", (SIZE,), "dense", 0),))
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


class Observer(Protocol):
    def __call__(self, event: str, node: str) -> None: ...


@dataclass
class Device:
    coroutine: NodeCoroutine[ModelReply]
    inbox: deque[Message] = field(default_factory=deque)
    outbox: deque[Message] = field(default_factory=deque)
    work: Vector | None = None
    waits: bool = False


class Fleet:
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
    ) -> None:
        """A `batch_size` of None means all examples of a device."""
        self.dice, self.now, self.observe = Random(seed), 0.0, observe
        self.data = {node: Squares(node, count) for node, count in examples.items()}
        self.batches = {
            node: Batches(data, batch_size or len(data), f"{seed}/{node}")  # type: ignore[arg-type]
            for node, data in self.data.items()
        }
        self.local, self.codec = local_training(synchronization, RATE), codec or Dense()
        self.log = io.BytesIO()
        modulator = (modulation or Constant()).start(LAYOUT)
        initial = np.zeros(SIZE, np.float32)
        self.server = ParameterServer(
            Parameters(initial, RATE, modulator, optimizer=optimizer or SGD()),
            layout=LAYOUT,
            codec=self.codec,
            synchronizer=synchronization.start(frozenset(examples), seed, examples),
            workers=examples,
            evaluator=None,
            stop=Stop(updates=updates),
            log=RunLog(self.log),
            now=self.now,
        )
        self.late = 0
        self.devices: dict[str, Device] = {}
        for node in examples:
            self.boot(node, 0)

    @property
    def theta(self) -> Vector:
        return self.server.parameters.snapshot()

    def boot(self, node: str, incarnation: int) -> None:
        place = EncoderContext(LAYOUT, stream(f"codec/{node}/{incarnation}"))
        coder = encoder(self.codec, place, False)
        self.devices[node] = Device(worker(node, incarnation, coder, SIZE, 1e9, ModelReply))
        self._live(node, None)

    def kill(self, node: str) -> None:
        del self.devices[node]

    def play(self, most: int = 100_000) -> None:
        """Until the run is over."""
        for _ in range(most):
            if self.server.over:
                return
            self.step()
        raise AssertionError("it does not come to an end")

    def step(self) -> None:
        """Let one thing happen; if nothing can, let time pass."""
        moves = [(node, kind) for node in sorted(self.devices) for kind in self._possible(node)]
        if not moves:
            due = self.server.deadline()
            assert due is not None, "everyone waits, and nobody knows for what"
            self.now = max(self.now, due)
            self._deliver(self.server.tick(self.now))
            return
        node, kind = self.dice.choice(moves)
        device = self.devices[node]
        if kind == "send":
            self._serve(node, device.outbox.popleft())
        elif kind == "hear":
            device.waits = False
            self._live(node, device.inbox.popleft())
        else:
            theta, device.work = device.work, None
            assert theta is not None
            batches = [(which,) for which in draw(self.batches[node], self.local)]
            result = descend(self.data[node].gradient, theta, batches, self.local.rate)
            self._live(node, Computed(*result, 0.01))

    def _possible(self, node: str) -> Sequence[str]:
        device = self.devices[node]
        return [
            *(["send"] if device.outbox else []),
            *(["hear"] if device.waits and device.inbox else []),
            *(["work"] if device.work is not None else []),
        ]

    def _serve(self, node: str, message: Any) -> None:
        try:
            replies = self.server.receive(message, self.now)
        except WireError as error:
            assert "too late" in str(error)
            self.late += 1
            return
        if isinstance(message, Update):
            self.observe("update", node)
        self._deliver(replies)

    def _deliver(self, replies: Any) -> None:
        for node, reply in replies:
            if isinstance(reply, ModelReply):
                self.observe("pull", node)
            if node in self.devices:
                self.devices[node].inbox.append(reply)

    def _live(self, node: str, outcome: Any) -> None:
        device = self.devices[node]
        try:
            while True:
                command = device.coroutine.send(outcome)
                outcome = None
                match command:
                    case Tell(message):
                        device.outbox.append(message)
                    case Await():
                        device.waits = True
                        return
                    case Compute(reply):
                        device.work = reply.theta
                        return
        except StopIteration:
            pass
