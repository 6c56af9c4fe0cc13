"""Coding `ternary`: the sign of each value, and the mean magnitude of each variable.

With zero for entries not sent, there are three levels. The mean of the sent magnitudes is the scale
nearest to them in least squares. Values of equal magnitude decode exactly.
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
    signs[-1] = True  # end mark, since bits are padded to whole bytes
    bits = np.packbits(signs, bitorder="little").tobytes()
    if not groups.starts.size:
        return CodedValues((bits, b""))
    # in double precision: in float32 the mean of many equal magnitudes may differ from them
    sums = np.add.reduceat(np.abs(values), groups.starts, dtype=np.float64)
    return CodedValues((bits, grouping.write((sums / groups.lengths).astype(np.float32))))


def entries(frames: Frames) -> int:
    if not len(frames[0]) or not frames[0][-1]:
        raise WireError("signs have no end")
    # the highest set bit of the last byte is the end mark
    return 8 * (len(frames[0]) - 1) + frames[0][-1].bit_length() - 1


def decode(frames: Frames, indices: Indices, layout: Layout) -> Vector:
    groups = grouping.groups(indices, layout)
    values = groups.each(grouping.read(frames[1], groups))
    packed = np.frombuffer(frames[0], np.uint8)
    negative = np.unpackbits(packed, count=values.size, bitorder="little").view(np.bool_)
    np.negative(values, out=values, where=negative)
    return values
