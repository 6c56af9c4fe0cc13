"""The coroutine that pulls and pushes in segments, driven by hand: no time and no network."""

import random
from dataclasses import dataclass

import numpy as np
import pytest

from emulator.chance import stream
from emulator.codecs import EncoderContext, SegmentEncoder, TopK
from emulator.core import wire
from emulator.core.wire.messages import (
    Begin,
    Bye,
    Diverged,
    Hello,
    ModelReply,
    ModelSegment,
    Pull,
    UpdateSegment,
)
from emulator.core.worker.layered_worker import layered_worker
from emulator.core.worker.worker import Await, Backward, Begun, Computed, Forward, Tell
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.schedules import Cuts
from tests.fakes.core.mutated_frames import mutate

LAYOUT = Layout(tuple(Variable(f"v{n}", (n,), "dense", n) for n in (4, 2, 3)))
TIMEOUT = 5.0
THIRDS = Cuts(((1, 1), (2, 2), (3, 3)), ((3, 3), (2, 2), (1, 1)))
PARTS = Cuts(((1, 2), (3, 3)), ((2, 3), (1, 1)))
WHOLE = Cuts(((1, 3),), ((1, 3),))


@dataclass
class Fixed:
    """A scheduler that asks the list for the cuts of each iteration; the last stay."""

    planned: list[Cuts]

    def cuts(self):
        return self.planned.pop(0) if len(self.planned) > 1 else self.planned[0]


def begun(*cuts, incarnation=0):
    """Return a worker that has been told to begin, and its first pull."""
    context = EncoderContext(LAYOUT, stream("layered"))
    encoder = SegmentEncoder(TopK(keep=0.5), context)
    result = layered_worker(
        "farm-1", incarnation, Fixed([*cuts]), encoder, LAYOUT, TIMEOUT, ModelSegment
    )
    assert isinstance(next(result).message, Hello)
    assert result.send(None) == Await(TIMEOUT)
    assert result.send(Begin(12.5)) == Begun(12.5)
    return result, result.send(None).message


def piece(pull, segment, version=3, size=None):
    place = LAYOUT.place(segment)
    theta = np.ones(place.stop - place.start if size is None else size, np.float32)
    return ModelSegment(pull.ticket, version, segment, theta)


def pass_forward(result, pull):
    """Answer `pull`; return the command behind the last forward pass."""
    command = result.send(None)
    for segment in pull.segments:
        assert command == Await(TIMEOUT)
        answer = piece(pull, segment)
        command = result.send(answer)
        assert isinstance(command, Forward) and command.reply is answer
        command = result.send(None)
    return command


def gradient(segment, bad=None):
    place = LAYOUT.place(segment)
    values = np.arange(place.start, place.stop, dtype=np.float32) - 4
    if bad is not None:
        values[-1] = bad
    return values


@pytest.mark.parametrize("cuts", [THIRDS, PARTS, WHOLE])
def test_an_iteration_goes_as_it_is_cut(cuts):
    result, pull = begun(cuts)
    assert (pull.node, pull.segments) == ("farm-1", cuts.pull)
    command = pass_forward(result, pull)
    for number, segment in enumerate(cuts.push):
        assert command == Backward(segment)
        told = result.send(Computed(gradient(segment), 0.5, 0.01 * number))
        assert isinstance(told, Tell) and isinstance(told.message, UpdateSegment)
        push = told.message
        assert (push.node, push.version, push.ticket) == ("farm-1", 3, pull.ticket)
        assert (push.segment, push.loss, push.compute) == (segment, 0.5, 0.01 * number)
        decoded = TopK(keep=0.5).decode(push.frames, LAYOUT.part(segment))
        sent = gradient(segment)[decoded.indices]
        assert len(sent) and decoded.values.tobytes() == sent.tobytes()
        command = result.send(None)
    assert isinstance(command.message, Pull) and command.message.ticket == pull.ticket + 1


def test_every_iteration_has_its_own_cuts():
    result, pull = begun(THIRDS, PARTS)
    command = pass_forward(result, pull)
    while isinstance(command, Backward):
        result.send(Computed(gradient(command.segment), 0.5, 0.01))
        command = result.send(None)
    assert command.message.segments == PARTS.pull


def test_a_lost_connection_amid_a_pull_asks_anew():
    result, pull = begun(THIRDS)
    result.send(None)
    assert isinstance(result.send(piece(pull, (1, 1))), Forward)
    assert result.send(None) == Await(TIMEOUT)
    again = result.send(None).message
    assert isinstance(again, Pull) and again.ticket == pull.ticket + 1
    assert result.send(None) == Await(TIMEOUT)
    assert result.send(piece(pull, (2, 2))) == Await(TIMEOUT)  # of the lost answer
    command = result.send(piece(again, (1, 1), version=5))
    assert isinstance(command, Forward) and command.reply.version == 5


@pytest.mark.parametrize(
    ("segment", "version", "size"),
    [((3, 3), 3, None), ((1, 1), 3, None), ((2, 3), 3, None), ((2, 2), 4, None), ((2, 2), 3, 3)],
)
def test_a_piece_that_does_not_fit_asks_anew(segment, version, size):
    result, pull = begun(THIRDS)
    result.send(None)
    result.send(piece(pull, (1, 1)))
    result.send(None)
    again = result.send(piece(pull, segment, version, size)).message
    assert isinstance(again, Pull) and again.ticket == pull.ticket + 1


def test_other_messages_are_skipped():
    result, pull = begun(THIRDS)
    result.send(None)
    for skipped in (
        Begin(1.0),
        ModelReply(pull.ticket, 3, np.ones(9, np.float32)),
        ModelSegment(pull.ticket + 1, 3, (1, 1), np.ones(4, np.float32)),
    ):
        assert result.send(skipped) == Await(TIMEOUT)
    assert isinstance(result.send(piece(pull, (1, 1))), Forward)


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_ends_the_push(which, bad):
    result, pull = begun(THIRDS)
    command = pass_forward(result, pull)
    for number in range(which + 1):
        segment = command.segment
        finite = None if number < which else bad
        told = result.send(Computed(gradient(segment, finite), 0.5, 0.01)).message
        command = result.send(None)
    assert isinstance(told, Diverged) and (told.node, told.version) == ("farm-1", 3)
    assert isinstance(command.message, Pull)


@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_bye_ends_the_worker_between_pieces(pieces):
    result, pull = begun(THIRDS)
    result.send(None)
    for segment in THIRDS.pull[:pieces]:
        result.send(piece(pull, segment))
        result.send(None)
    with pytest.raises(StopIteration):
        result.send(Bye())


@pytest.mark.slow
@pytest.mark.parametrize("messages", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_mutated_pieces_mix_no_model(messages):
    """Whatever a server says, a gradient is computed on one version and on all layers in order."""
    dice = random.Random(3)
    result, pull = begun(THIRDS)
    command, passed = result.send(None), []
    computed = refused = 0
    for number in range(messages):
        wanted = THIRDS.pull[len(passed)]
        segment = wanted if dice.random() < 0.9 else dice.choice(THIRDS.pull)
        honest = piece(pull, segment, number // 64)
        try:
            message = wire.unpack([mutate(bytes(f), dice) for f in wire.pack(honest)])
        except WireError:
            refused += 1
            continue
        if isinstance(message, Bye):
            continue  # this one would be obeyed
        assert command == Await(TIMEOUT)
        command = result.send(message)
        if isinstance(command, Forward):
            passed.append(command.reply)
            command = result.send(None)
        if isinstance(command, Backward):
            computed += 1
            assert [reply.segment for reply in passed] == [*THIRDS.pull]
            assert {(reply.ticket, reply.version) for reply in passed} == {
                (pull.ticket, passed[0].version)
            }
            assert [reply.theta.size for reply in passed] == [4, 2, 3]
        while isinstance(command, Backward):
            result.send(Computed(gradient(command.segment), 0.5, 0.01))
            command = result.send(None)
        if isinstance(command, Tell):
            pull, passed = command.message, []
            command = result.send(None)
    assert min(computed, refused) > messages / 100
