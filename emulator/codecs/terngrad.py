"""Codec `terngrad`: random rounding of entries to three levels (Wen et al., 2017)."""

from dataclasses import dataclass
from math import sqrt
from typing import Annotated, Literal

import numpy as np

from ..errors import WireError
from ..layout import Layout
from ..units import Checked
from ..vectors import Frames, Gradient, Vector
from . import frame_checks, packing
from .base import ByteCount, Draws, Encoder, EncoderContext
from .feedback import RandomEncoder

_LEVELS = 3


def _check_clip(clip: float) -> None:
    if not 0 <= clip < float("inf"):
        raise ValueError(f"clip is {clip:g}: write a number of standard deviations, or 0")


@dataclass(frozen=True)
class TernGrad:
    """TernGrad: entry g becomes sign(g) · S with probability |g| / S, else zero.

    Wen et al. (2017). S is the largest magnitude of the variable after clipping, and the expected
    value of a decoded entry is the clipped g. A variable of equal entries, with deviation zero, is
    not clipped.
    """

    clip: Annotated[float, Checked(_check_clip)] = 2.5
    """Clipping bound in standard deviations (section 4.2 of the paper: 2.5); 0 clips nothing."""
    kind: Literal["terngrad"] = "terngrad"

    def __post_init__(self) -> None:
        _check_clip(self.clip)

    def start(self, context: EncoderContext) -> Encoder:
        return RandomEncoder(self, context.layout, context.rng)

    def encode(self, gradient: Vector, layout: Layout, rng: Draws) -> Frames:
        frame_checks.check_shape(gradient, layout)
        magnitudes = np.abs(gradient)
        largest = np.array([magnitudes[part].max() for _, part in layout])
        if not np.isfinite(largest).all():
            raise frame_checks.not_finite_error(gradient, layout)
        scales = np.zeros(largest.size, "<f4")
        for number in np.flatnonzero(largest):
            # magnitudes above S yield probabilities above 1: this is the clipping
            part = slice(*layout.bounds[number])
            scales[number] = self._scale(gradient[part], largest[number])
            magnitudes[part] /= scales[number]
        chosen = rng.random(layout.size, np.float32) < magnitudes
        # digits 0, 1, 2 stand for -S, 0, S: one plus 1 for a chosen entry, minus 2 if negative
        levels = np.uint8(1) + chosen - ((chosen & (gradient < 0)).view(np.uint8) << 1)
        return scales.tobytes(), packing.pack_digits(levels, _LEVELS)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        scale_frame, level_frame = frame_checks.check_count(frames, 2)
        scales = frame_checks.scales(scale_frame, len(layout.variables))
        levels = packing.unpack_digits(level_frame, layout.size, _LEVELS).view(np.int8)
        values = np.empty(layout.size, np.float32)
        for (variable, part), scale in zip(layout, scales, strict=True):
            np.multiply(levels[part] - np.int8(1), scale, out=values[part])
            if not scale and (levels[part] != 1).any():
                raise WireError(f"{variable.name} has entries, but its scale is zero")
        return Gradient(values)

    def count(self, frames: Frames) -> ByteCount:
        scales, levels = frames
        return ByteCount(values=len(levels), indices=0, headers=len(scales))

    def _scale(self, entries: Vector, largest: np.float32) -> np.float32:
        """Return S for these `entries`: the `largest` magnitude or the clipping bound."""
        if not self.clip:
            return largest
        relative = entries / largest  # within [-1, 1], so that squares do not overflow
        mean = relative.mean(dtype=np.float64)
        square = np.square(relative, out=relative).mean(dtype=np.float64)
        deviation = sqrt(max(0.0, square - mean**2))
        clipped = min(1.0, self.clip * deviation) * float(largest)
        return np.float32(clipped) or largest  # zero deviation: equal entries, no clipping
