"""Encoders: a codec bound to a model, forgetful or with error feedback.

Error feedback adds to each gradient what the updates before it did not send, so nothing is
lost in the long run (Seide et al., 2014; Stich et al., 2018).
"""

from dataclasses import dataclass

import numpy as np

from ..layout import Layout
from .base import Codec, Encoder, Frames, Vector


@dataclass(frozen=True)
class Plain:
    """Encode each gradient for itself."""

    codec: Codec
    layout: Layout

    def encode(self, gradient: Vector) -> Frames:
        return self.codec.encode(gradient, self.layout)


class ErrorFeedback:
    """Encode each gradient with the residual added; make one for each worker.

    All that came in is what went out and `residual`, to the rounding of float32. The residual
    lives and dies with the worker's process.
    """

    def __init__(self, codec: Codec, layout: Layout) -> None:
        self._codec = codec
        self._layout = layout
        self.residual: Vector = np.zeros(layout.size, np.float32)

    def encode(self, gradient: Vector) -> Frames:
        with np.errstate(over="ignore", invalid="ignore"):  # the codec refuses what came of it
            owed = gradient + self.residual
        frames = self._codec.encode(owed, self._layout)
        sent = self._codec.decode(frames, self._layout)
        if sent.indices is None:
            owed -= sent.values
        else:
            owed[sent.indices] -= sent.values
        self.residual = owed
        return frames


def encoder(codec: Codec, layout: Layout, error_feedback: bool) -> Encoder:
    """A new encoder for one worker."""
    return ErrorFeedback(codec, layout) if error_feedback else Plain(codec, layout)
