"""Encoders: a codec bound to a model, forgetful or with error feedback.

Error feedback adds to each gradient what the updates before it did not send, so nothing is
lost in the long run (Seide et al., 2014; Stich et al., 2018).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..layout import Layout
from ..vectors import Frames, Vector
from . import frame_checks
from .base import Codec, Encoder, EncoderContext, StatelessCodec
from .decoded_frames import decode_once


@dataclass(frozen=True)
class StatelessEncoder:
    """Encode each gradient for itself."""

    codec: StatelessCodec
    layout: Layout

    def encode(self, gradient: Vector) -> Frames:
        return self.codec.encode(gradient, self.layout)


BUILT_IN = "it remembers by itself what it has not sent: leave error_feedback out"
"""Why there is none around a codec that has its own."""


class RandomCodec(Protocol):
    """A codec that needs no memory, but rng."""

    def encode(self, gradient: Vector, layout: Layout, rng: np.random.Generator) -> Frames:
        """As `Encoder.encode`; nothing is drawn for a gradient that is refused."""


@dataclass(frozen=True)
class RandomEncoder:
    """Encode each gradient for itself, by the worker's own rng."""

    codec: RandomCodec
    layout: Layout
    rng: np.random.Generator

    def encode(self, gradient: Vector) -> Frames:
        return self.codec.encode(gradient, self.layout, self.rng)


class ErrorFeedback:
    """Have each gradient encoded with the residual added; make one for each worker.

    All that came in is what went out and `residual`, to the rounding of float32. The residual
    lives and dies with the worker's process.
    """

    def __init__(self, encoder: Encoder, codec: Codec, layout: Layout) -> None:
        """`codec` reads what `encoder` writes."""
        self._encoder, self._codec, self._layout = encoder, codec, layout
        self.residual: Vector = np.zeros(layout.size, np.float32)

    def encode(self, gradient: Vector) -> Frames:
        frame_checks.check_shape(gradient, self._layout)
        with np.errstate(over="ignore", invalid="ignore"):  # the encoder refuses what came of it
            owed = gradient + self.residual
        frames = self._encoder.encode(owed)
        sent = decode_once(frames, self._codec, self._layout)
        if sent.indices is None:
            owed -= sent.values
        else:
            where = sent.indices.astype(np.intp)
            owed[where] = owed.take(where) - sent.values
        self.residual = owed
        return frames


def encoder(codec: Codec, context: EncoderContext, error_feedback: bool) -> Encoder:
    """A new encoder for one worker; ValueError if error feedback cannot go around the codec."""
    started = codec.start(context)
    if not error_feedback:
        return started
    if reason := refusal(codec):
        raise ValueError(f"no error feedback goes around this codec: {reason}")
    return ErrorFeedback(started, codec, context.layout)


def refusal(codec: Codec) -> str:
    """Why error feedback must not go around the codec: what its class says; empty if it may."""
    reason: str = getattr(codec, "no_feedback", "")
    return reason
