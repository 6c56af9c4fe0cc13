"""Encoders: a codec bound to a model, forgetful or with error feedback.

Error feedback adds to each gradient what the updates before it did not send, so nothing is
lost in the long run (Seide et al., 2014; Stich et al., 2018).
"""

from dataclasses import dataclass

import numpy as np

from ..layout import Layout
from .base import Codec, Encoder, Forgetful, Frames, Place, Vector


@dataclass(frozen=True)
class Plain:
    """Encode each gradient for itself."""

    codec: Forgetful
    layout: Layout

    def encode(self, gradient: Vector) -> Frames:
        return self.codec.encode(gradient, self.layout)


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
        with np.errstate(over="ignore", invalid="ignore"):  # the encoder refuses what came of it
            owed = gradient + self.residual
        frames = self._encoder.encode(owed)
        sent = self._codec.decode(frames, self._layout)
        if sent.indices is None:
            owed -= sent.values
        else:
            owed[sent.indices] -= sent.values
        self.residual = owed
        return frames


def encoder(codec: Codec, place: Place, error_feedback: bool) -> Encoder:
    """A new encoder for one worker."""
    started = codec.start(place)
    return ErrorFeedback(started, codec, place.layout) if error_feedback else started
