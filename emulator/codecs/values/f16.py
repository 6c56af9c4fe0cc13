"""Coding `f16`: IEEE 754 half precision, eleven significant bits, from 6e-8 to 65,504.

Larger values are clipped to 65,504; with error feedback the rest follows in later updates. Values
below half of the smallest number are not sent.
"""

import numpy as np

from ...errors import WireError
from ...layout import Layout
from ...vectors import LARGEST_F16, Frames, Indices, Vector
from .grouping import CodedValues

FRAMES = 1
_HALF = np.dtype("<f2")


def encode(values: Vector, indices: Indices, layout: Layout) -> CodedValues:
    halves = values.clip(-LARGEST_F16, LARGEST_F16).astype(_HALF)
    kept = halves != 0
    if kept.all():
        return CodedValues((halves.tobytes(),))
    return CodedValues((halves[kept].tobytes(),), kept)


def entries(frames: Frames) -> int:
    whole, remainder = divmod(len(frames[0]), _HALF.itemsize)
    if remainder:
        raise WireError(f"{len(frames[0])} bytes of float16")
    return whole


def decode(frames: Frames, indices: Indices, layout: Layout) -> Vector:
    values: Vector = np.frombuffer(frames[0], _HALF).astype(np.float32)
    if not np.isfinite(values).all():
        raise WireError("a value is not finite")
    if not values.all():
        raise WireError("a value is zero, which is never sent")
    return values
