"""Encoders that bind a codec to a worker: stateless, random, or with error feedback.

Error feedback adds to each gradient the entries that earlier updates did not send, so that no part
of a gradient is lost in the long run (Seide et al., 2014; Stich et al., 2018).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..layout import Layout
from ..vectors import Frames, Vector
from . import frame_checks
from .base import Codec, Draws, Encoder, EncoderContext, Memory, StatelessCodec, decode_once


@dataclass(frozen=True)
class StatelessEncoder:
    """An encoder without memory: every gradient is encoded on its own."""

    codec: StatelessCodec
    layout: Layout

    def encode(self, gradient: Vector) -> Frames:
        return self.codec.encode(gradient, self.layout)


BUILT_IN = "it remembers by itself what it has not sent: leave error_feedback out"
"""Reason for `no_feedback` of a codec that has an error feedback of its own."""


class RandomCodec(Protocol):
    """A codec without memory that draws random numbers."""

    def encode(self, gradient: Vector, layout: Layout, rng: Draws) -> Frames:
        """Return the frames of `gradient`, as `Encoder.encode` does, with draws from `rng`.

        A refused gradient draws nothing.
        """


@dataclass(frozen=True)
class RandomEncoder:
    """An encoder without memory that passes the worker's generator to the codec."""

    codec: RandomCodec
    layout: Layout
    rng: Draws

    def encode(self, gradient: Vector) -> Frames:
        return self.codec.encode(gradient, self.layout, self.rng)


class ErrorFeedback:
    """An encoder with a residual: the sum of the entries that were not sent so far.

    The sum of all gradients equals the sum of all decoded frames plus `residual`, to float32
    rounding. Each worker has an encoder of its own; the residual is lost with the worker's process.
    """

    def __init__(self, encoder: Encoder, codec: Codec, layout: Layout) -> None:
        """Wrap `encoder`; `codec` decodes the frames of `encoder` for a model of `layout`."""
        self._encoder, self._codec, self._layout = encoder, codec, layout
        self.residual: Vector = np.zeros(layout.size, np.float32)

    def encode(self, gradient: Vector) -> Frames:
        """Encode `gradient` plus the residual, and keep the part that the frames do not hold."""
        frame_checks.check_shape(gradient, self._layout)
        with np.errstate(over="ignore", invalid="ignore"):  # the encoder refuses an overflow
            owed = gradient + self.residual
        frames = self._encoder.encode(owed)
        sent = decode_once(frames, self._codec, self._layout)
        # an exception above leaves the residual untouched: `owed` is a new array
        if sent.indices is None:
            owed -= sent.values
        else:
            positions = sent.indices.astype(np.intp)
            owed[positions] = owed.take(positions) - sent.values
        self.residual = owed
        return frames

    @property
    def inner(self) -> Encoder:
        """The encoder without the feedback."""
        return self._encoder

    def memory(self, part: slice) -> Memory:
        return Memory((self.residual[part],))

    def recall(self, part: slice, memory: Memory) -> None:
        (self.residual[part],) = memory.vectors


def encoder(codec: Codec, context: EncoderContext, error_feedback: bool) -> Encoder:
    """Return a new encoder of `codec` for one worker, with error feedback if asked for.

    Raises ValueError if error feedback cannot go around the codec.
    """
    started = codec.start(context)
    if not error_feedback:
        return started
    if reason := refusal(codec):
        raise ValueError(f"no error feedback goes around this codec: {reason}")
    return ErrorFeedback(started, codec, context.layout)


def refusal(codec: Codec) -> str:
    """Return why error feedback cannot go around `codec` (its `no_feedback`); empty if it can."""
    reason: str = getattr(codec, "no_feedback", "")
    return reason
