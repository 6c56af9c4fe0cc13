"""Hostile messages of five kinds, drawn by a seed from what an honest device would say."""

from collections import deque
from random import Random

import numpy as np

from emulator import codecs
from emulator.core import wire
from emulator.core.wire.messages import (
    Activations,
    Diverged,
    Hello,
    Leave,
    Message,
    Pull,
    Score,
    Update,
    UpdateSegment,
)
from emulator.layout import Layout
from emulator.units import Fraction

Frames = list[bytes]

KINDS = ("mutated", "truncated", "replayed", "reordered", "oversized")
CODEC = codecs.TopK(keep=Fraction(0.01))
REMEMBERED = 256
"""Messages that may be replayed."""
GRADIENTS = 16
CROWDED = 64
"""Frames of the longest message that does not get its sender expelled."""
_SEGMENTS = b"\xdc\x13\x88" + b"".join(bytes([0xCD, n >> 8, n & 255]) for n in range(5000))
"""The ends of 5,000 segments in MessagePack; a pull may have 4,096."""


class HostileMessages:
    """Draws messages of `node`, which is a device of the run, and sometimes of its `neighbour`."""

    def __init__(self, node: str, neighbour: str, layout: Layout, largest: int, seed: int) -> None:
        """Messages have frames of at most `largest` bytes, the most that the server takes."""
        self._names = node, neighbour
        self.dice = Random(f"{seed}/hostile/{node}")
        self._largest, self._layers = largest, len(layout.layers)
        self._junk = self.dice.randbytes(largest)
        self._gradients = [self._gradient(layout) for _ in range(GRADIENTS)]
        self._history: deque[Frames] = deque(maxlen=REMEMBERED)
        self._ticket = 0

    def _gradient(self, layout: Layout) -> Frames:
        numbers = np.random.default_rng(self.dice.randrange(2**32))
        context = codecs.EncoderContext(layout, numbers)
        drawn = numbers.standard_normal(layout.size, np.float32)
        return [bytes(frame) for frame in CODEC.start(context).encode(drawn)]

    def draw(self, kind: str, version: int) -> Frames:
        """Return a message of `kind`; the server's model is at about `version`."""
        honest = [bytes(frame) for frame in wire.pack(self._honest(self._names[0], version))]
        self._history.append(honest)
        match kind:
            case "mutated":
                return self._mutated(honest)
            case "truncated":
                return self._truncated(honest)
            case "replayed":
                return self._replayed(version)
            case "reordered":
                return self._reordered(honest, version)
            case "oversized":
                return self._oversized(honest)
        raise ValueError(kind)

    def _honest(self, node: str, version: int) -> Message:
        """Return a message that `node` may send, though perhaps not at this moment."""
        self._ticket += 1
        ticket, gradient = self._ticket, self.dice.choice(self._gradients)
        updates = [Update(node, version, 0.5, 0.01, gradient, numbered) for numbered in (None, 1)]
        others: list[Message] = [
            Hello(node, self.dice.randrange(9)),
            Leave(node),
            Diverged(node, version),
            Score(node, version, 0.5, 1.0),
            Pull(node, ticket, 0, max(0, version - 1)),
            Pull(node, ticket, 0, None, ((1, 1), (2, self._layers))),
            UpdateSegment(node, version, ticket, (1, self._layers), 0.5, 0.01, gradient),
            Activations(node, version, ticket, 4, bytes(64), bytes(16)),
        ]
        chance = self.dice.random()
        if chance < 0.5:
            return self.dice.choice(updates)
        return Pull(node, ticket) if chance < 0.6 else self.dice.choice(others)

    def _mutated(self, frames: Frames) -> Frames:
        """Change one to four places: a bit, a byte, a byte more or less, or a stretch twice."""
        for _ in range(self.dice.randint(1, 4)):
            number = self.dice.randrange(len(frames))
            frame = bytearray(frames[number] or b"\0")
            at = self.dice.randrange(len(frame))
            match self.dice.randrange(5):
                case 0:
                    frame[at] ^= 1 << self.dice.randrange(8)
                case 1:
                    frame[at] = self.dice.randrange(256)
                case 2:
                    frame.insert(at, self.dice.randrange(256))
                case 3:
                    del frame[at]
                case 4:
                    frame[at:at] = frame[at : at + 16]
            frames = [*frames[:number], bytes(frame), *frames[number + 1 :]]
        return frames

    def _truncated(self, frames: Frames) -> Frames:
        """Cut a frame short, or leave out the last frames."""
        if len(frames) > 1 and self.dice.random() < 0.5:
            return frames[: self.dice.randrange(1, len(frames))]
        number = self.dice.randrange(len(frames))
        cut = frames[number][: self.dice.randrange(max(1, len(frames[number])))]
        return [*frames[:number], cut, *frames[number + 1 :]]

    def _replayed(self, version: int) -> Frames:
        """Repeat an own message, old or new, or one of the neighbour's."""
        if self.dice.random() < 0.5:
            return self.dice.choice(self._history)
        return [bytes(frame) for frame in wire.pack(self._honest(self._names[1], version))]

    def _reordered(self, frames: Frames, version: int) -> Frames:
        """Shuffle the frames of an update, or push twice without a pull in between."""
        gradient = self.dice.choice(self._gradients)
        update = Update(self._names[0], max(0, version - 1), 0.5, 0.01, gradient)
        pushed = [bytes(frame) for frame in wire.pack(update)]
        if self.dice.random() < 0.5:
            self.dice.shuffle(pushed)
        return pushed if len(frames) == 1 else [*frames[1:], frames[0]]

    def _oversized(self, frames: Frames) -> Frames:
        """Return more frames, more bytes, longer names, deeper lists or larger numbers than fit."""
        match self.dice.randrange(7):
            case 0:
                return [*frames, *[b""] * self.dice.randint(6, CROWDED - len(frames))]
            case 1:
                length = int(self._largest ** self.dice.uniform(0.5, 1.0))
                return [frames[0], self._junk[:length]]
            case 2:
                return [b"\xdd\x7f\xff\xff\xff" + frames[0]]  # a list of two thousand millions
            case 3:
                return [b"\x93\x00\xdb\xff\xff\xff\xff" + frames[0]]  # a name of 4 GiB
            case 4:
                return [b"\x91" * self.dice.randint(100, 20_000)]
            case 5:
                return [b"\x93\x00\xa1a\xcf" + b"\xff" * 8]  # an incarnation of 2**64 - 1
        name = self._names[0].encode()
        return [b"\x96\x09" + bytes([0xA0 + len(name)]) + name + b"\x01\x00\xc0" + _SEGMENTS]


def drawn(messages: HostileMessages, kind: str) -> list[Frames]:
    """Return up to 20 messages of `kind`, for one connection."""
    return [messages.draw(kind, 0) for _ in range(messages.dice.randint(1, 20))]
