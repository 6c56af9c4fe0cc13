"""Codec `dense`: the whole gradient, uncompressed."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import frame_checks
from .base import ByteCount, Encoder, EncoderContext
from .feedback import StatelessEncoder


@dataclass(frozen=True)
class Dense:
    """No compression: every entry of the gradient as a float32 of four bytes.

    The reference to which other codecs are compared.
    """

    kind: Literal["dense"] = "dense"

    def start(self, context: EncoderContext) -> Encoder:
        return StatelessEncoder(self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        frame_checks.check_shape(gradient, layout)
        if not np.isfinite(gradient).all():
            raise frame_checks.not_finite_error(gradient, layout)
        return (gradient.astype("<f4", copy=False).tobytes(),)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        (frame,) = frame_checks.check_count(frames, 1)
        values = frame_checks.floats(frame, layout.size)
        if values.size != layout.size:
            raise WireError(f"{values.size} values for {layout.size} parameters")
        return Gradient(values)

    def count(self, frames: Frames) -> ByteCount:
        (values,) = frames
        return ByteCount(values=len(values), indices=0, headers=0)
