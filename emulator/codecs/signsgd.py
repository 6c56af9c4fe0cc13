"""Codec `signsgd`: the sign of each entry, one bit (Bernstein et al., 2018)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import frame_checks, packing
from .base import ByteCount, Encoder, EncoderContext
from .feedback import StatelessEncoder


@dataclass(frozen=True)
class SignSGD:
    """signSGD: +1 for entries from zero up, -1 for entries below; magnitudes are lost.

    Bernstein et al. (2018). Every parameter moves by the learning rate. With the `sign` optimizer
    behind a barrier the server moves by majority vote (Algorithm 3 of the paper).
    """

    kind: Literal["signsgd"] = "signsgd"
    no_feedback: ClassVar[str] = "its signs have no scale: use ef-signsgd"

    def start(self, context: EncoderContext) -> Encoder:
        return StatelessEncoder(self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        frame_checks.check_finite(gradient, layout)
        return (packing.pack_signs(gradient < 0),)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        (frame,) = frame_checks.check_count(frames, 1)
        values = np.ones(layout.size, np.float32)
        packing.negate_where(values, packing.unpack_signs(frame, layout.size))
        return Gradient(values)

    def count(self, frames: Frames) -> ByteCount:
        (bits,) = frames
        return ByteCount(values=len(bits), indices=0, headers=0)
