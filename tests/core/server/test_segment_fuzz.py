"""A hundred thousand mutated segment messages: the server takes exactly those that it may take.

A model of the protocol, much simpler than the server, foretells for each message whether the server
takes it, and the parameters after it.
"""

import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from emulator.codecs import Dense, StatelessEncoder, TopK
from emulator.core import wire
from emulator.core.wire.messages import (
    Diverged,
    Hello,
    Leave,
    ModelSegment,
    PatchSegment,
    Pull,
    Times,
    UpdateSegment,
)
from emulator.errors import WireError
from emulator.layout import Layout, Variable
from emulator.units import Fraction
from tests.fakes.core.mutated_frames import mutate
from tests.fakes.core.server_world import WORKERS, World

SIZES = (12, 5, 30, 8, 20)
LAYOUT = Layout(tuple(Variable(f"v{n}", (size,), "dense", n) for n, size in enumerate(SIZES)))
L = len(SIZES)


@dataclass
class Member:
    """A device as the model knows it."""

    version: int | None = None
    ticket: int | None = None
    begun: int = L + 1
    """First layer of the last piece; all layers from it on have arrived."""
    parts: list = field(default_factory=list)
    away: bool = False


class Model:
    """The messages that a server may take, and the resulting model."""

    def __init__(self, codec):
        self.codec, self.members = codec, {name: Member() for name in WORKERS}
        self.theta, self.version = np.zeros(LAYOUT.size, np.float32), 0

    def takes(self, message):
        """Return whether `message` may be taken; change the state as its taking does."""
        member = self.members.get(getattr(message, "node", None))
        if member is None:
            return False
        if member.away and not isinstance(message, Hello):
            return False
        match message:
            case Hello() | Leave():
                self.members[message.node] = Member(away=isinstance(message, Leave))
                return True
            case Pull():
                return self._pull(member, message)
            case Diverged():
                if taken := message.version == member.version:
                    self._drop(member)
                    member.version = None  # the device has nothing to send of this version
                return taken
            case UpdateSegment():
                return self._piece(member, message)
        return False

    def _pull(self, member, pull):
        layers = [layer for first, last in pull.segments for layer in range(first, last + 1)]
        if pull.segments and layers != [*range(1, L + 1)]:
            return False
        if pull.held is not None and pull.held > self.version:
            return False
        self._drop(member)
        member.version = self.version
        member.ticket = pull.ticket if pull.segments else None
        return True

    def _piece(self, member, piece):
        if piece.version != member.version or piece.ticket != member.ticket:
            return False
        first, last = piece.segment
        try:
            if last != member.begun - 1:
                raise WireError("order")
            part = LAYOUT.part(piece.segment)
            member.parts.append((piece.segment, self.codec.decode(piece.frames, part)))
        except WireError:
            self._drop(member)
            return False
        member.begun = first
        if first == 1:
            self._apply(member)
        return True

    def _apply(self, member):
        for segment, gradient in member.parts:
            part = self.theta[LAYOUT.place(segment)]
            chosen = slice(None) if gradient.indices is None else gradient.indices
            part[chosen] -= np.float32(0.5) * gradient.values
        self.version += 1
        member.version = None
        self._drop(member)

    def _drop(self, member):
        member.parts, member.begun = [], L + 1


class Liar:
    """Makes messages that are honest, honest but out of place, or neither."""

    def __init__(self, model, codec, dice):
        self.model, self.codec, self.dice = model, codec, dice
        self.gradient = np.random.default_rng(3).normal(size=LAYOUT.size).astype(np.float32)
        self.tickets = 0

    def message(self):
        dice, node = self.dice, self.dice.choice(WORKERS)
        member = self.model.members[node]
        kind = dice.random()
        if member.away and kind < 0.3:
            return Hello(node, 1)
        if member.version is None or kind < 0.02:
            self.tickets += 1
            ends = sorted({L, *(layer for layer in range(1, L) if dice.random() < 0.5)})
            firsts = [1, *(end + 1 for end in ends)]
            pull = Pull(node, self.tickets, 0, None, tuple(zip(firsts, ends, strict=False)))
            return self._lie(pull) if dice.random() < 0.2 else pull
        if kind < 0.03:
            others = Diverged(node, member.version), Pull(node, 5), Leave(node)
            return dice.choice([Hello(node, 1), *others])
        last = member.begun - 1
        segment = (dice.randint(max(1, last - 2), last), last)
        piece = self.piece(node, member, segment)
        return self._lie(piece) if dice.random() < 0.15 else piece

    def piece(self, node, member, segment):
        encoder = StatelessEncoder(self.codec, LAYOUT.part(segment))
        frames = encoder.encode(self.gradient[LAYOUT.place(segment)])
        ticket = 0 if member.ticket is None else member.ticket
        return UpdateSegment(node, member.version, ticket, segment, 0.5, 0.01, frames)

    def _lie(self, message):
        """Return `message` with a field of another message."""
        dice = self.dice
        if isinstance(message, Pull):
            return replace(message, held=dice.choice([0, self.model.version, 10**9]))
        a, b = dice.randint(1, L + 1), dice.randint(1, L + 1)
        other = dice.choice(
            [
                {"segment": (min(a, b), max(a, b))},
                {"ticket": dice.randint(0, self.tickets)},
                {"version": max(0, message.version + dice.randint(-2, 2))},
                {"node": dice.choice([*WORKERS, "mallory", "evaluator"])},
                {"frames": [*message.frames, b"1234"]},
                {"frames": message.frames[1:]},
                {"frames": [bytes(frame) * 2 for frame in message.frames]},
            ]
        )
        return replace(message, **other)


@pytest.mark.slow
@pytest.mark.parametrize("codec", [Dense(), TopK(keep=Fraction(0.2))], ids=["dense", "topk"])
@pytest.mark.parametrize("messages", [4_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_exactly_what_may_be_taken_is_taken(codec, messages):
    dice, world, model = random.Random(11), World(layout=LAYOUT, codec=codec), Model(codec)
    world.server._stop = replace(world.server._stop, updates=None)
    world.begin()
    liar = Liar(model, codec, dice)
    taken = refused = 0
    for _ in range(messages):
        honest = liar.message()
        frames = [bytes(frame) for frame in wire.pack(honest)]
        if dice.random() < 0.25:
            frames = [mutate(frame, dice) for frame in frames]
        try:
            message = wire.unpack(frames)
        except WireError:
            refused += 1
            continue
        if isinstance(message, Diverged) and message.node != "a":
            continue  # the run ends once most devices diverge
        may = model.takes(message)
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                world.server.receive(message, 110.0)
                does = True
            except WireError:
                does = False
        assert does == may, message
        assert world.server.version == model.version
        taken, refused = taken + does, refused + (not does)
        assert _staged_bytes(world) <= len(WORKERS) * LAYOUT.size * 12
    assert world.server.parameters.theta.tobytes() == model.theta.tobytes()
    assert min(taken, refused) > messages / 10 and model.version > messages / 20


def _staged_bytes(world):
    """Return the bytes of the pieces that wait: their frames, values and indices."""
    return sum(
        sum(map(len, piece.frames))
        + gradient.values.nbytes
        + (0 if gradient.indices is None else gradient.indices.nbytes)
        for exchange in world.server._exchanges._staging._exchanges.values()
        for piece, (_, gradient) in zip(exchange.pieces, exchange.decoded, strict=True)
    )


REPLIES = [
    ModelSegment(9, 41, (3, 7), np.linspace(-1, 1, 30, dtype=np.float32)),
    ModelSegment(9, 41, (1, 2), np.ones(3, np.float32), Times(12.5, (11.25, 11.5))),
    PatchSegment(9, 41, (1, 1), 40, (b"abc", b"defg"), Times(12.5, ())),
    PatchSegment(9, 41, (2, 3), None, (b"abcd",)),
]


@pytest.mark.slow
def test_no_mutation_of_a_reply_crashes_its_reader():
    """Whatever is read is within its bounds, and comes back from its own bytes."""
    dice, originals = random.Random(12), [[bytes(f) for f in wire.pack(m)] for m in REPLIES]
    read = 0
    for _ in range(100_000):
        try:
            message = wire.unpack([mutate(frame, dice) for frame in dice.choice(originals)])
        except WireError:
            continue
        read += 1
        if isinstance(message, ModelSegment | PatchSegment):
            first, last = message.segment
            assert 1 <= first <= last <= 4096
            assert message.times is None or np.isfinite(message.times.answered)
            assert message.times is None or np.isfinite(message.times.arrived).all()
        again = wire.unpack([bytes(frame) for frame in wire.pack(message)])
        assert wire.size(again) == wire.size(message)
    assert read > 1000
