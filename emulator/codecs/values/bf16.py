"""Coding `bf16`: the upper half of a float32 (bfloat16), with its range and eight significant bits.

Values are rounded to the nearest, ties to even. A value that would round to infinity is sent as the
largest finite number.
"""

import numpy as np

from ...errors import WireError
from ...layout import Layout
from ...vectors import Frames, Indices, Vector
from .grouping import CodedValues

FRAMES = 1
_UPPER = np.dtype("<u2")
_MAGNITUDE = np.uint16(0x7FFF)
_LARGEST = np.uint16(0x7F7F)
_INFINITE = np.uint16(0x7F80)


def encode(values: Vector, indices: Indices, layout: Layout) -> CodedValues:
    bits = values.view(np.uint32)
    # Round half to even: add 0x7FFF, plus one if the kept part is odd. A carry out of the fraction
    # raises the exponent, which is the correct rounding.
    upper = ((bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))) >> 16).astype(_UPPER)
    magnitude = upper & _MAGNITUDE
    upper -= magnitude == _INFINITE  # the code below infinity is the largest finite number
    kept = magnitude != 0
    if kept.all():
        return CodedValues((upper.tobytes(),))
    return CodedValues((upper[kept].tobytes(),), kept)


def entries(frames: Frames) -> int:
    whole, remainder = divmod(len(frames[0]), _UPPER.itemsize)
    if remainder:
        raise WireError(f"{len(frames[0])} bytes of bfloat16")
    return whole


def decode(frames: Frames, indices: Indices, layout: Layout) -> Vector:
    upper = np.frombuffer(frames[0], _UPPER)
    magnitude = upper & _MAGNITUDE
    if (magnitude > _LARGEST).any():
        raise WireError("a value is not finite")
    if not magnitude.all():
        raise WireError("a value is zero, which is never sent")
    return (upper.astype(np.uint32) << np.uint32(16)).view(np.float32)
