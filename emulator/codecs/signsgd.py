"""Only the sign of each entry, one bit each (Bernstein et al., 2018)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import frame_checks, signs
from .base import ByteCount, Encoder, EncoderContext
from .feedback import StatelessEncoder


@dataclass(frozen=True)
class SignSGD:
    """+1 for what is at least zero, -1 for what is below: a step of one size for all parameters.

    What the magnitudes were is lost, so the learning rate is all there is of a scale. With the
    `sign` optimizer behind a barrier the server moves by majority vote (Algorithm 3 there).
    """

    kind: Literal["signsgd"] = "signsgd"
    no_feedback: ClassVar[str] = "what it sends has no scale: use ef-signsgd"

    def start(self, context: EncoderContext) -> Encoder:
        return StatelessEncoder(self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        frame_checks.check_finite(gradient, layout)
        return (signs.pack(gradient < 0),)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        (frame,) = frame_checks.check_count(frames, 1)
        values = np.ones(layout.size, np.float32)
        signs.negate_where(values, signs.unpack(frame, layout.size))
        return Gradient(values)

    def count(self, frames: Frames) -> ByteCount:
        (bits,) = frames
        return ByteCount(values=len(bits), indices=0, headers=0)
