"""Codec with half precision: two bytes for each entry instead of four."""

from dataclasses import dataclass

import numpy as np

from emulator.codecs import (
    ByteCount,
    Encoder,
    EncoderContext,
    Frames,
    Gradient,
    StatelessEncoder,
    Vector,
    frame_checks,
)
from emulator.errors import WireError
from emulator.layout import Layout

_HALF = np.dtype("<f2")


@dataclass(frozen=True)
class Half:
    """The whole gradient, with every entry as the nearest finite float16."""

    def start(self, context: EncoderContext) -> Encoder:
        return StatelessEncoder(self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        frame_checks.check_finite(gradient, layout)
        largest = np.finfo(_HALF).max
        return (gradient.clip(-largest, largest).astype(_HALF).tobytes(),)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        (frame,) = frame_checks.check_count(frames, 1)
        if len(frame) != layout.size * _HALF.itemsize:
            raise WireError(f"{len(frame)} bytes for {layout.size} parameters of two bytes each")
        values = np.frombuffer(frame, _HALF).astype(np.float32)
        if not np.isfinite(values).all():
            raise WireError("a value is not finite")
        return Gradient(values)

    def count(self, frames: Frames) -> ByteCount:
        (values,) = frames
        return ByteCount(values=len(values), indices=0, headers=0)
