"""Flags packed eight to a byte, the first in the lowest bit."""

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]


def packed(flags: Flags) -> Bytes:
    return np.packbits(flags, bitorder="little")


def unpacked(bytes_: Bytes, count: int | None = None) -> Flags:
    return np.unpackbits(bytes_, count=count, bitorder="little").view(np.bool_)


def positions(bytes_: Bytes) -> NDArray[np.intp]:
    """Where the flags are set, ascending; quick where few are, for empty bytes are skipped."""
    some = np.flatnonzero(bytes_ != 0)
    within = np.flatnonzero(unpacked(bytes_[some]))
    found: NDArray[np.intp] = (some[within >> 3] << 3) + (within & 7)
    return found
