"""The coroutine of a worker whose model is cut, driven by hand."""

import random
from typing import Any

import numpy as np
import pytest

from emulator.codecs import Dense, StatelessEncoder
from emulator.core import wire
from emulator.core.cut.activation_values import DeviceCoder
from emulator.core.cut.cut_worker import cut_worker
from emulator.core.plan import Cut
from emulator.core.wire.messages import (
    ActivationGradient,
    Activations,
    Begin,
    Bye,
    Diverged,
    Hello,
    LogitGradient,
    Logits,
    ModelReply,
    Pull,
    Update,
)
from emulator.core.worker.worker import (
    Activate,
    ActivationsBack,
    Await,
    Begun,
    Computed,
    LossAt,
    LossGradient,
    Tell,
)
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.learning.learners.base import Activated
from tests.fakes.core.mutated_frames import mutate

F = np.float32
LAYOUT = Layout((Variable("w", (4,), "dense", 0),))
WAIT = Await(5.0)
ACTIVATED = Activated(np.arange(6, dtype=F), 2, np.array([3, 1], np.int32))
ENCODER = StatelessEncoder(Dense(), LAYOUT)


def coroutine(labels: str = "sent") -> Any:
    coder = DeviceCoder(Cut(1, labels))
    return cut_worker("farm-1", 0, coder, ENCODER, LAYOUT.size, 5.0, ModelReply)


def activated(labels: str = "sent", result: Activated = ACTIVATED) -> tuple[Any, Any]:
    """Return a worker that has computed activations, and the worker's message."""
    worker = coroutine(labels)
    assert isinstance(next(worker).message, Hello)
    assert worker.send(None) == WAIT
    assert worker.send(Begin(1.0)) == Begun(1.0)
    pull = worker.send(None).message
    assert isinstance(pull, Pull)
    assert worker.send(None) == WAIT
    model = ModelReply(pull.ticket, 3, np.ones(4, F))
    assert worker.send(model) == Activate(model)
    return worker, worker.send(result).message


def gradient(ticket: int, bytes_: int = 24) -> ActivationGradient:
    return ActivationGradient(ticket, 0.75, bytes(bytes_))


def test_an_iteration_with_labels_sent() -> None:
    worker, sent = activated()
    assert isinstance(sent, Activations) and (sent.node, sent.version) == ("farm-1", 3)
    assert sent.rows == 2 and sent.activations == ACTIVATED.activations.tobytes()
    assert sent.labels == ACTIVATED.labels.tobytes()
    assert worker.send(None) == WAIT
    answer = gradient(sent.ticket)
    assert worker.send(answer) == ActivationsBack(answer)
    update = worker.send(Computed(np.ones(4, F), 0.75, 0.02)).message
    assert isinstance(update, Update)
    assert (update.node, update.version, update.loss) == ("farm-1", 3, 0.75)
    assert worker.send(None).message.ticket == sent.ticket + 1


def test_an_iteration_with_labels_that_stay() -> None:
    worker, sent = activated("local")
    assert sent.labels is None
    assert worker.send(None) == WAIT
    logits = Logits(sent.ticket, bytes(40))
    assert worker.send(logits) == LossAt(logits)
    told = worker.send(LossGradient(0.5, np.ones(10, F))).message
    assert isinstance(told, LogitGradient)
    assert (told.ticket, told.loss, len(told.gradient)) == (sent.ticket, 0.5, 40)
    assert worker.send(None) == WAIT
    assert isinstance(worker.send(gradient(sent.ticket)), ActivationsBack)


@pytest.mark.parametrize("labels", ["sent", "local"])
def test_who_gets_no_answer_pulls_again(labels: str) -> None:
    worker, sent = activated(labels)
    assert worker.send(None) == WAIT
    pull = worker.send(None).message
    assert isinstance(pull, Pull) and pull.ticket == sent.ticket + 1


def test_answers_to_earlier_activations_are_skipped() -> None:
    worker, sent = activated()
    assert worker.send(None) == WAIT
    for other in (gradient(sent.ticket - 1), Logits(sent.ticket, bytes(8)), Begin(2.0)):
        assert worker.send(other) == WAIT
    assert isinstance(worker.send(gradient(sent.ticket)), ActivationsBack)


def test_a_gradient_of_other_length_is_as_good_as_none() -> None:
    worker, sent = activated()
    assert worker.send(None) == WAIT
    assert isinstance(worker.send(gradient(sent.ticket, 12)).message, Pull)


NAN = np.array([np.nan], F)


def test_what_is_not_finite_is_told_and_never_sent() -> None:
    worker, told = activated(result=Activated(NAN, 1, np.zeros(1, np.int32)))
    assert isinstance(told, Diverged) and told.version == 3
    assert isinstance(worker.send(None).message, Pull)
    worker, sent = activated("local")
    worker.send(None)
    worker.send(Logits(sent.ticket, bytes(40)))
    assert isinstance(worker.send(LossGradient(np.nan, NAN)).message, Diverged)
    assert isinstance(worker.send(None).message, Pull)
    worker, sent = activated()
    worker.send(None)
    worker.send(gradient(sent.ticket))
    assert isinstance(worker.send(Computed(np.full(4, np.nan, F), 0.5, 0.1)).message, Diverged)


@pytest.mark.parametrize("labels", ["sent", "local"])
def test_bye_ends_it_wherever_it_waits(labels: str) -> None:
    worker, sent = activated(labels)
    answers = [Bye()] if labels == "sent" else [Logits(sent.ticket, bytes(40)), Bye()]
    worker.send(None)
    with pytest.raises(StopIteration):
        for answer in answers:
            if isinstance(worker.send(answer), LossAt):
                worker.send(LossGradient(0.5, np.ones(10, F)))
                worker.send(None)


@pytest.mark.parametrize("labels", ["sent", "local"])
def test_no_mutated_answer_harms_a_worker(labels: str) -> None:
    """Each is skipped, or taken with as many bytes as were sent."""
    dice, taken = random.Random(7), 0
    for _ in range(2_000):
        worker, sent = activated(labels)
        worker.send(None)
        honest = Logits(sent.ticket, bytes(40)) if labels == "local" else gradient(sent.ticket)
        try:
            answer = wire.unpack([mutate(bytes(frame), dice) for frame in wire.pack(honest)])
        except WireError:
            continue
        command = worker.send(answer)
        taken += isinstance(command, ActivationsBack | LossAt)
        assert isinstance(command, ActivationsBack | LossAt | Await | Tell)
        if isinstance(command, ActivationsBack):
            assert len(command.answer.gradient) == len(sent.activations)
    assert taken > 200
