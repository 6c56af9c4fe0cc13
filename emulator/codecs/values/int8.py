"""Coding `int8`: whole multiples, from -127 to 127, of a scale for each variable.

The scale is the largest magnitude that the variable sends over 127, so the largest value is exact
but for rounding. The largest entries of a gradient seldom span more than a decade. Values below
half a scale are not sent.
"""

import numpy as np

from ...errors import WireError
from ...layout import Layout
from ...vectors import Frames, Indices, Vector
from . import grouping
from .grouping import CodedValues

FRAMES = 2
_LARGEST = 127
"""Largest code."""
_SMALLEST = np.finfo(np.float32).smallest_subnormal
"""Smallest scale, so that no division is by zero."""
_NORMAL = np.finfo(np.float32).smallest_normal
"""Scale below which rounding to subnormal numbers may shrink the largest code."""
_HIGHEST = np.nextafter(np.finfo(np.float32).max / np.float32(_LARGEST), np.float32(0))
"""Largest scale with a finite product with the largest code."""


def encode(values: Vector, indices: Indices, layout: Layout) -> CodedValues:
    groups = grouping.groups(indices, layout)
    if not groups.starts.size:
        return CodedValues((b"", b""))
    largest: Vector = np.maximum.reduceat(np.abs(values), groups.starts)
    # keep the scale above zero, and small enough that 127 times the scale stays finite
    scales = (largest / np.float32(_LARGEST)).clip(_SMALLEST, _HIGHEST)
    codes = np.rint(values / groups.each(scales)).clip(-_LARGEST, _LARGEST).astype(np.int8)
    kept = codes != 0
    if kept.all():
        return CodedValues((codes.tobytes(), grouping.write(scales)))
    return CodedValues((codes[kept].tobytes(), grouping.write(scales)), kept)


def entries(frames: Frames) -> int:
    return len(frames[0])


def decode(frames: Frames, indices: Indices, layout: Layout) -> Vector:
    groups = grouping.groups(indices, layout)
    scales = grouping.read(frames[1], groups)
    codes = np.frombuffer(frames[0], np.int8)
    if not groups.starts.size:
        return np.empty(0, np.float32)
    if not codes.all():
        raise WireError("a value is zero, which is never sent")
    largest = np.maximum.reduceat(np.abs(codes.astype(np.int16)), groups.starts)
    # One spelling only: half the codes with twice the scale would decode to the same values.
    # Subnormal scales are coarse, so there the largest code may be smaller.
    if ((largest != _LARGEST) & ((scales >= _NORMAL) | (largest > _LARGEST))).any():
        raise WireError(f"the largest code of a variable is not {_LARGEST}")
    with np.errstate(over="ignore"):
        values: Vector = codes.astype(np.float32) * groups.each(scales)
    if not np.isfinite(values).all():
        raise WireError("a value is not finite")
    return values
