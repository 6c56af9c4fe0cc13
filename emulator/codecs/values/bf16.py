"""Values as the upper half of a float32 (bfloat16): its whole range, eight bits of fraction.

Rounded to the nearest, ties to even; what would round to infinity is sent as the largest number.
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
    # a carry out of the fraction raises the exponent, as it should
    upper = ((bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))) >> 16).astype(_UPPER)
    magnitude = upper & _MAGNITUDE
    upper -= magnitude == _INFINITE  # down to the largest
    kept = magnitude != 0
    if kept.all():
        return CodedValues((upper.tobytes(),))
    return CodedValues((upper[kept].tobytes(),), kept)


def entries(frames: Frames) -> int:
    whole, rest = divmod(len(frames[0]), _UPPER.itemsize)
    if rest:
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
