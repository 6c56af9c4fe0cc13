"""Coding `f32`: four bytes a value, exact."""

import numpy as np

from ...errors import WireError
from ...layout import Layout
from ...vectors import Frames, Indices, Vector
from .grouping import CodedValues

FRAMES = 1
_FLOAT = np.dtype("<f4")


def encode(values: Vector, indices: Indices, layout: Layout) -> CodedValues:
    return CodedValues((values.astype(_FLOAT, copy=False).tobytes(),))


def entries(frames: Frames) -> int:
    whole, remainder = divmod(len(frames[0]), _FLOAT.itemsize)
    if remainder:
        raise WireError(f"{len(frames[0])} bytes of float32")
    return whole


def decode(frames: Frames, indices: Indices, layout: Layout) -> Vector:
    values: Vector = np.frombuffer(frames[0], _FLOAT)
    if not np.isfinite(values).all():
        raise WireError("a value is not finite")
    if not values.all():
        raise WireError("a value is zero, which is never sent")
    return values
