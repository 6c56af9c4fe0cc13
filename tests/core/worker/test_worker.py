"""The coroutines of worker and evaluator, driven by hand: no time, no network, no TensorFlow."""

import random

import numpy as np
import pytest

from emulator.codecs import Dense, ErrorFeedback, StatelessEncoder, TopK
from emulator.core import wire
from emulator.core.wire.messages import Begin, Bye, Diverged, Hello, ModelReply, Pull, Score, Update
from emulator.core.worker.worker import Await, Begun, Compute, Computed, Evaluate, evaluator, worker
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from tests.fakes.core.mutated_frames import mutate

LAYOUT = Layout((Variable("w", (4,), "dense", 0),))
PATIENCE = 5.0


ENCODERS = {
    "dense": StatelessEncoder(Dense(), LAYOUT),
    "topk": StatelessEncoder(TopK(keep=0.5), LAYOUT),
    "feedback": ErrorFeedback(StatelessEncoder(TopK(keep=0.5), LAYOUT), TopK(keep=0.5), LAYOUT),
}


def coroutine(incarnation=0, encoder=ENCODERS["dense"]):
    return worker("farm-1", incarnation, encoder, LAYOUT.size, PATIENCE, ModelReply)


def begun(incarnation=0, encoder=ENCODERS["dense"]):
    """A worker that has said hello and been told to begin; its first pull is returned too."""
    result = coroutine(incarnation, encoder)
    assert isinstance(next(result).message, Hello)
    assert result.send(None) == Await(PATIENCE)
    assert result.send(Begin(12.5)) == Begun(12.5)
    return result, result.send(None).message


def model(ticket, version=3, value=1.0):
    return ModelReply(ticket, version, np.full(4, value, np.float32))


def test_one_round():
    result, pull = begun()
    assert isinstance(pull, Pull) and pull.node == "farm-1"
    assert result.send(None) == Await(PATIENCE)
    command = result.send(model(pull.ticket))
    assert isinstance(command, Compute) and (command.reply.theta == 1).all()
    push = result.send(Computed(np.arange(4, dtype=np.float32), 0.5, 0.01)).message
    assert isinstance(push, Update)
    assert (push.node, push.version, push.loss, push.compute) == ("farm-1", 3, 0.5, 0.01)
    assert result.send(None).message.ticket == pull.ticket + 1


def test_hello_is_said_again_when_nobody_answers():
    result = coroutine()
    next(result)
    assert result.send(None) == Await(PATIENCE)
    assert isinstance(result.send(None).message, Hello)


def test_what_was_meant_for_an_earlier_incarnation_does_not_begin_the_story():
    result = coroutine(1)
    next(result)
    assert result.send(None) == Await(PATIENCE)
    assert result.send(model(7)) == Await(PATIENCE)
    assert result.send(Begin(1.0)) == Begun(1.0)


def test_late_answers_are_skipped():
    result, first = begun()
    assert result.send(None) == Await(PATIENCE)
    second = result.send(None).message  # timed out: asks again
    assert second.ticket != first.ticket
    assert result.send(None) == Await(PATIENCE)
    assert result.send(model(first.ticket)) == Await(PATIENCE)
    assert isinstance(result.send(model(second.ticket)), Compute)


def test_tickets_survive_a_restart():
    _, before = begun(incarnation=0)
    result, after = begun(incarnation=1)
    assert after.ticket != before.ticket
    assert result.send(None) == Await(PATIENCE)
    assert result.send(model(before.ticket)) == Await(PATIENCE)


def test_a_model_of_another_size_is_no_answer():
    result, pull = begun()
    result.send(None)
    assert result.send(ModelReply(pull.ticket, 3, np.ones(5, np.float32))) == Await(PATIENCE)
    assert isinstance(result.send(model(pull.ticket)), Compute)


@pytest.mark.parametrize("messages", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mutated_messages_do_no_harm(messages):
    """Whatever a server says, the worker goes on, and computes on models of its size only."""
    dice = random.Random(3)
    result, pull = begun()
    command = result.send(None)
    computed = refused = 0
    for _ in range(messages):
        honest = dice.choice([model(pull.ticket), Begin(1.0), Pull("farm-1", 3), model(0)])
        try:
            message = wire.unpack([mutate(bytes(f), dice) for f in wire.pack(honest)])
        except WireError:
            refused += 1
            continue
        if isinstance(message, Bye):
            continue  # that one it would obey
        assert command == Await(PATIENCE)
        command = result.send(message)
        if isinstance(command, Compute):
            computed += 1
            assert command.reply.theta.shape == (4,)
            result.send(Computed(np.ones(4, np.float32), 0.5, 0.01))
            pull = result.send(None).message
            command = result.send(None)
    assert min(computed, refused) > messages / 100


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_is_not_pushed(bad, encoder):
    result, pull = begun(encoder=encoder)
    result.send(None)
    result.send(model(pull.ticket))
    gradient = np.array([0, bad, 0, 0], np.float32)
    said = result.send(Computed(gradient, 0.5, 0.01)).message
    assert isinstance(said, Diverged) and said.version == 3
    assert isinstance(result.send(None).message, Pull)


@pytest.mark.parametrize("steps", [1, 3])
def test_bye_ends_the_story_wherever_it_waits(steps):
    result = coroutine()
    for _ in range(steps):
        command = result.send(None)
    while not isinstance(command, Await):
        command = result.send(None)
    with pytest.raises(StopIteration):
        result.send(Bye())


def test_the_evaluator_measures_what_the_server_keeps_for_it():
    result = evaluator("evaluator", 0, 4, PATIENCE)
    next(result)
    result.send(None)
    result.send(Begin(0.0))
    first = result.send(None).message
    assert first.after == 0
    result.send(None)
    assert isinstance(result.send(model(first.ticket, version=0)), Evaluate)
    score = result.send((0.1, 2.3)).message
    assert isinstance(score, Score)
    assert (score.version, score.accuracy, score.loss) == (0, 0.1, 2.3)
    second = result.send(None).message
    assert second.after == 1
    result.send(None)
    result.send(model(second.ticket, version=431))
    result.send((0.5, 1.0))
    assert result.send(None).message.after == 432
