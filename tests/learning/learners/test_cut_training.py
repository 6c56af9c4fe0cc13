"""Training behind a barrier with a cut model, against training without the cut: the same bits.

Server, coroutines, codings and TensorFlow's learners are the product's. Messages are passed on in
order, without a network, so that the gradients of a step are summed in the same order.
"""

import io
import json
from collections import deque
from typing import Any

import numpy as np
import pytest

from emulator.core import assembly
from emulator.core.assembly import cut_exchange
from emulator.core.cut.activation_values import DeviceCoder
from emulator.core.cut.cut_worker import cut_worker
from emulator.core.plan import Cut, Plan, WorkerPlan
from emulator.core.server.parameter_server import ParameterServer
from emulator.core.wire.messages import ModelReply
from emulator.core.worker.worker import (
    Activate,
    ActivationsBack,
    Await,
    Begun,
    Compute,
    Computed,
    LossAt,
    Tell,
    worker,
)
from emulator.learning import models
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.device import DeviceLearner, server_part, staged_learner
from emulator.learning.learners.export import exported
from emulator.log.lines import RunLog
from emulator.transport.work import Work
from emulator.world.stop_conditions import Stop
from tests.fakes.core.made_server import planned_server

NODES, STEPS, BATCH = ("a", "b", "c"), 6, 8
Losses = dict[str, list[float]]
"""Mean loss of each of a device's mini-batches, by the device's name."""


def plan(model: str, cut: Cut | None) -> Plan:
    training = WorkerPlan(3, BATCH, {"kind": "dense"}, fleet=len(NODES), cut=cut)
    return Plan(
        training,
        model,
        0.02,
        NODES,
        synchronization={"kind": "barrier"},
        optimizer={"kind": "momentum", "momentum": 0.5},
        stop=Stop(updates=STEPS * len(NODES)),
    )


def data(model: str, node: str) -> Examples:
    """Return images of a device, of which those of a class share a bright square."""
    shape, dice = models.find(model).task.shape, np.random.default_rng(ord(node))
    images = dice.integers(0, 9, (40, *shape), np.uint8)
    labels = dice.integers(0, 4, 40).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        row, column = 3 * (label // 2), 3 * (label % 2)
        image[row : row + 3, column : column + 3] += 7
    return Examples(images, labels, 16)


class Device:
    """A worker's coroutine, with the means to carry out its commands."""

    def __init__(self, node: str, planned: Plan) -> None:
        folder, parts = (
            exported(planned.model),
            assembly.WorkerAssembly(planned.worker, models.find(planned.model).layout),
        )
        batches = parts.batches(node, 0, data(planned.model, node))
        encoder, cut = parts.encoder(node, 0, batches), planned.worker.cut
        layout = assembly.held_layout(planned.worker, models.find(planned.model).layout)
        if cut is None:
            self.learner = DeviceLearner(folder, batches)
            self.coroutine: Any = worker(node, 0, encoder, layout.size, 9.0, ModelReply)
        else:
            coder = DeviceCoder(cut)
            self.cut = Work(staged_learner(folder, batches, cut.layer), coder=coder)
            self.coroutine = cut_worker(node, 0, coder, encoder, layout.size, 9.0, ModelReply)

    def until_it_waits(self, answer: Any) -> list[Any]:
        """Return the messages that the device sends after `answer`, before it waits again."""
        sent: list[Any] = []
        try:
            while not isinstance(command := self.coroutine.send(answer), Await):
                answer = self._result(command, sent)
        except StopIteration:
            pass
        return sent

    def _result(self, command: Any, sent: list[Any]) -> Any:
        match command:
            case Tell(message):
                return sent.append(message)
            case Begun():
                return None
            case Compute(reply):
                return Computed(*self.learner.gradient(reply.theta), 0.01)
            case Activate() | LossAt() | ActivationsBack():
                return self.cut.do(command)
        raise AssertionError(command)


def trained(planned: Plan) -> tuple[np.ndarray, Losses]:
    """Return the model after the run, and the losses on the way."""
    log, cut, exchange = io.BytesIO(), planned.worker.cut, None
    if cut is not None:
        part = server_part(exported(planned.model), cut.layer)
        exchange = cut_exchange(planned, part, assembly.server_parameters(planned))
    server = planned_server(planned, RunLog(log), 0.0, exchange)
    play(server, {node: Device(node, planned) for node in NODES})
    what = "update" if cut is None else "activations"
    records = [json.loads(line) for line in log.getvalue().splitlines()]
    said = [record for record in records if record["what"] == what]
    if cut is not None:
        assert {record["staleness"] for record in said} == {0}
    losses = {node: [r["loss"] for r in said if r["node"] == node] for node in NODES}
    return server.model.snapshot(), losses


def play(server: ParameterServer, devices: dict[str, Device]) -> None:
    """Pass messages on until the run is over."""
    answers: deque[tuple[str, Any]] = deque((node, None) for node in devices)
    while not server.over:
        node, answer = answers.popleft()
        for message in devices[node].until_it_waits(answer):
            answers += server.receive(message, 1.0)


@pytest.mark.tensorflow
@pytest.mark.parametrize("labels", ["sent", "local"])
@pytest.mark.parametrize(("model", "layer"), [("mnist-cnn", 2), ("mnist-resnet", 7)])
def test_a_cut_changes_no_bit_of_the_training(model: str, layer: int, labels: str) -> None:
    theta, losses = trained(plan(model, None))
    cut_theta, cut_losses = trained(plan(model, Cut(layer, labels)))
    assert cut_losses == losses and np.array_equal(cut_theta, theta)
    for own in losses.values():
        assert len(own) == STEPS and own[-1] < own[0]
