"""Devices with a cut perceptron and their server, driven in random order, with faults.

Messages of one node keep their order, all else is chance. Time stands still while anything is under
way; once all wait it jumps to the next time-out, the server's or a device's.
"""

import io
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from emulator.core import assembly, wire
from emulator.core.cut.activation_values import DeviceCoder
from emulator.core.cut.cut_worker import cut_worker
from emulator.core.plan import Cut, Plan, WorkerPlan
from emulator.core.wire.messages import (
    ActivationGradient,
    Activations,
    LogitGradient,
    Logits,
    Message,
    ModelReply,
)
from emulator.core.worker.worker import (
    Activate,
    ActivationsBack,
    Await,
    Computed,
    LossAt,
    LossGradient,
    NodeCoroutine,
    Tell,
)
from emulator.core.zmtp import PLAIN, Form
from emulator.errors import WireError
from emulator.learning import models
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.numpy import NumpyServer, NumpyStages
from emulator.learning.learners.staged_learner import StagedLearner
from emulator.log.lines import RunLog
from emulator.synchronization import AnySynchronization, plain
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import planned_server
from tests.fakes.core.random_moves import RandomMoves

MODEL = models.find("digits-mlp")
TIMEOUT = 30.0


def examples(seed: int, count: int = 64) -> Examples:
    """Return images of which a model can learn something: a class is a bright stripe."""
    dice = np.random.default_rng(seed)
    labels = dice.integers(0, 10, count).astype(np.uint8)
    images = dice.integers(0, 6, (count, 64)).astype(np.uint8)
    for row, label in enumerate(labels):
        images[row, 6 * label : 6 * label + 6] += 9
    return Examples(images.reshape(count, 8, 8), labels, 16)


def cut_plan(
    synchronization: AnySynchronization,
    cut: Cut | None,
    *,
    nodes: int = 3,
    updates: int = 60,
    batch: int = 6,
    groups: tuple[tuple[str, ...], ...] = (),
    batch_sizes: Mapping[str, int] = {},
    form: Form = PLAIN,
    **options: Any,
) -> Plan:
    worker = WorkerPlan(
        seed=5,
        batch_size=batch,
        codec={"kind": "dense"},
        fleet=nodes,
        batch_sizes=dict(batch_sizes),
        cut=cut,
        form=form,
    )
    return Plan(
        worker=worker,
        model=MODEL.name,
        learning_rate=0.2,
        workers=tuple(f"n{number}" for number in range(nodes)),
        synchronization=plain(synchronization),
        groups=groups,
        stop=Stop(updates=updates),
        **options,
    )


@dataclass
class Device:
    coroutine: NodeCoroutine[ModelReply]
    learner: StagedLearner
    coder: DeviceCoder
    rows: int
    inbox: deque[Message] = field(default_factory=deque)
    outbox: deque[Any] = field(default_factory=deque)
    work: Any = None
    due: float | None = None
    """When the device stops waiting for a message; None: it does not wait."""

    @property
    def listens(self) -> bool:
        return self.due is not None


class CutFleet(RandomMoves):
    """A server with a cut model, and its devices."""

    def __init__(self, plan: Plan, seed: int = 0, part: Any = None) -> None:
        assert plan.worker.cut is not None
        self.plan, self.cut, self.dice, self.now = plan, plan.worker.cut, Random(seed), 0.0
        self.log = io.BytesIO()
        self.state = assembly.server_parameters(plan)
        part = part or NumpyServer(MODEL.layout, self.cut.layer)
        self.exchange = assembly.cut_exchange(plan, part, self.state)
        self.server = planned_server(plan, RunLog(self.log), 0.0, self.exchange)
        self.parts = assembly.WorkerAssembly(plan.worker, MODEL.layout)
        self.devices: dict[str, Device] = {}
        self.accepted: list[Activations] = []
        self.answered: list[tuple[str, int]] = []
        self.refused: list[str] = []
        self.bytes = {"up": 0, "down": 0}
        """Sizes of what crossed the cut."""
        self._incarnations = dict.fromkeys(plan.workers, -1)
        for node in plan.workers:
            self.boot(node)

    def said(self, what: str) -> list[dict[str, Any]]:
        records = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [record for record in records if record["what"] == what]

    # -- devices ---------------------------------------------------------------------------------

    def boot(self, node: str) -> None:
        """Start `node` anew; all that was under way to or from it is lost."""
        incarnation = self._incarnations[node] = self._incarnations[node] + 1
        data = examples(int(node[1:]))
        batches = self.parts.batches(node, incarnation, data)
        learner = StagedLearner(NumpyStages(MODEL.layout, self.cut.layer), batches)
        encoder, coder = self.parts.encoder(node, incarnation, batches), DeviceCoder(self.cut)
        size = MODEL.layout.part(self.cut.devices).size
        story = cut_worker(node, incarnation, coder, encoder, size, TIMEOUT, ModelReply)
        self.devices[node] = Device(story, learner, coder, batches.size)
        self.live(node, None)

    def kill(self, node: str) -> None:
        self.devices.pop(node, None)

    def reconnect(self, node: str) -> None:
        """Lose all messages under way; tell a waiting device at once."""
        device = self.devices[node]
        device.inbox.clear()
        device.outbox.clear()
        if device.due is not None:
            self.live(node, None)

    def lose_answers(self, node: str) -> None:
        self.devices[node].inbox.clear()

    # -- one thing after another -----------------------------------------------------------------

    def step(self) -> None:
        super().step()
        if (due := self.server.deadline()) is not None and due <= self.now:
            self._deliver(self.server.tick(self.now))

    def wait(self) -> None:
        """Let time pass to the next time-out."""
        dues = [device.due for device in self.devices.values() if device.due is not None]
        server = self.server.deadline()
        times = [*dues, *([] if server is None else [server])]
        if not self.devices and not times:
            return
        assert times, "all wait, and nobody knows for what"
        self.now = max(self.now, min(times))
        if server is not None and server <= self.now:
            self._deliver(self.server.tick(self.now))
            return
        for node, device in self.devices.items():
            if device.due is not None and device.due <= self.now:
                self.live(node, None)
                return

    def serve(self, node: str, message: Any) -> bool:
        """Pass `message` to the server; return whether it was taken."""
        try:
            replies = self.server.receive(message, self.now)
        except WireError as error:
            self.refused.append(str(error))
            return False
        if isinstance(message, Activations) and not self.server.ended:
            self.accepted.append(message)
        if isinstance(message, Activations | LogitGradient):
            self.bytes["up"] += wire.size(message, self.plan.worker.form)
        self._deliver(replies)
        return True

    def worked(self, node: str, work: Any) -> Any:
        device = self.devices[node]
        match work:
            case Activate(reply):
                return device.learner.activate(reply.theta)
            case LossAt(answer):
                return LossGradient(*device.learner.loss_at(device.coder.logits(answer)))
            case ActivationsBack(answer):
                slopes = device.coder.slopes(answer, device.rows)
                return Computed(device.learner.backward_from(slopes), answer.loss, 0.01)
        raise TypeError(work)

    def _deliver(self, replies: Any) -> None:
        for node, reply in replies:
            if isinstance(reply, ActivationGradient | Logits):
                self.bytes["down"] += wire.size(reply, self.plan.worker.form)
            if isinstance(reply, ActivationGradient) and reply.gradient:
                self.answered.append((node, reply.ticket))
            if node in self.devices:
                self.devices[node].inbox.append(reply)

    def live(self, node: str, outcome: Any) -> None:
        device = self.devices[node]
        device.due = None
        try:
            while True:
                command = device.coroutine.send(outcome)
                outcome = None
                match command:
                    case Tell(message):
                        device.outbox.append(message)
                    case Await(timeout):
                        device.due = self.now + timeout
                        return
                    case Activate() | ActivationsBack() | LossAt():
                        device.work = command
                        return
        except StopIteration:
            pass
