"""Codec `ef-signsgd`: signs times the mean magnitude, with error feedback.

Karimireddy et al. (2019).
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import frame_checks, packing
from .base import ByteCount, Encoder, EncoderContext
from .feedback import BUILT_IN, ErrorFeedback, StatelessEncoder


@dataclass(frozen=True)
class EFSignSGD:
    """Signs with error feedback: p = gradient + residual is sent as sign(p) · mean |p|.

    Algorithm 1 of Karimireddy et al. (2019), for each variable on its own as in the paper's
    experiments. There p contains the learning rate; here the server multiplies by it, which is the
    same while the rate is constant.
    """

    kind: Literal["ef-signsgd"] = "ef-signsgd"
    no_feedback: ClassVar[str] = BUILT_IN

    def start(self, context: EncoderContext) -> Encoder:
        return ErrorFeedback(StatelessEncoder(self, context.layout), self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        """Return the frames of `gradient`, to which the residual is already added."""
        frame_checks.check_finite(gradient, layout)
        magnitudes = np.abs(gradient)
        # in double precision: the sum of large magnitudes may be too large for a float32
        means = [magnitudes[part].mean(dtype=np.float64) for _, part in layout]
        return np.array(means, "<f4").tobytes(), packing.pack_signs(gradient < 0)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        scale_frame, sign_frame = frame_checks.check_count(frames, 2)
        scales = frame_checks.scales(scale_frame, len(layout.variables))
        negative = packing.unpack_signs(sign_frame, layout.size)
        values = np.empty(layout.size, np.float32)
        for (_, part), scale in zip(layout, scales, strict=True):
            values[part] = scale
        packing.negate_where(values, negative)
        return Gradient(values)

    def count(self, frames: Frames) -> ByteCount:
        scales, bits = frames
        return ByteCount(values=len(bits), indices=0, headers=len(scales))
