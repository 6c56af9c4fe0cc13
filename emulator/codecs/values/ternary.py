"""Only whether each value is above or below zero, and their mean magnitude in each variable.

With the entries not sent at zero, that makes three levels. The mean of the magnitudes sent is
the scale nearest to them in squares; values that have one magnitude already come back exactly.
"""

import numpy as np

from ...errors import WireError
from ...layout import Layout
from ...vectors import Frames, Indices, Vector
from . import grouping
from .grouping import CodedValues

FRAMES = 2


def encode(values: Vector, indices: Indices, layout: Layout) -> CodedValues:
    groups = grouping.groups(indices, layout)
    signs = np.empty(values.size + 1, np.bool_)
    np.signbit(values, out=signs[:-1])
    signs[-1] = True  # says where the signs end, since bytes come in eights
    bits = np.packbits(signs, bitorder="little").tobytes()
    if not groups.starts.size:
        return CodedValues((bits, b""))
    # in double precision, or many equal magnitudes would not have themselves as their mean
    sums = np.add.reduceat(np.abs(values), groups.starts, dtype=np.float64)
    return CodedValues((bits, grouping.write((sums / groups.lengths).astype(np.float32))))


def entries(frames: Frames) -> int:
    if not len(frames[0]) or not frames[0][-1]:
        raise WireError("signs have no end")
    return 8 * (len(frames[0]) - 1) + frames[0][-1].bit_length() - 1


def decode(frames: Frames, indices: Indices, layout: Layout) -> Vector:
    groups = grouping.groups(indices, layout)
    values = groups.each(grouping.read(frames[1], groups))
    packed = np.frombuffer(frames[0], np.uint8)
    negative = np.unpackbits(packed, count=values.size, bitorder="little").view(np.bool_)
    np.negative(values, out=values, where=negative)
    return values
