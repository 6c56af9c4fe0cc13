"""Coding `golomb`: gaps in Golomb's code (1966), within 2 % of the entropy of a random set.

The best divisor follows from the number of entries and the size (Gallager & Van Voorhis, 1975),
which both sides know, so there is no header. Of a set larger than half, the complement is written.
Quotients, remainders and the remainders' last bits form three runs, so that whole arrays are read
at once.
"""

import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices
from .. import packing


def encode(indices: Indices, layout: Layout) -> bytes:
    return write(indices, layout.size)


def decode(frame: Buffer, entries: int, layout: Layout) -> Indices:
    indices, length = read(np.frombuffer(frame, np.uint8), entries, layout.size)
    if length != len(frame):
        raise WireError(f"{len(frame)} bytes of Golomb code for {entries} values")
    return indices


def least(entries: int, layout: Layout) -> int:
    return 0


def header(frame: Buffer) -> int:
    return 0


def write(indices: Indices, size: int) -> bytes:
    """Return the bytes of the set of `indices`, which ascend and lie below `size`."""
    if 2 * indices.size > size:
        return _write(_complement(indices, size), size)
    return _write(indices, size)


def read(stream: packing.Bytes, entries: int, size: int) -> tuple[Indices, int]:
    """Return `entries` indices below `size`, and the number of bytes at the head of `stream` used.

    Raises WireError if `write` cannot have written the stream's head.
    """
    if not 0 <= entries <= size:
        raise WireError(f"{entries} indices of {size}")
    if 2 * entries > size:
        complement, length = _read(stream, size - entries, size)
        return _complement(complement, size), length
    return _read(stream, entries, size)


def _write(indices: Indices, size: int) -> bytes:
    """Return the three runs of bits for `indices`, at most half of `size`."""
    if not indices.size:
        return b""
    divisor, width, short = _code(indices.size, size)
    # numbers left out between neighbours, about geometric in a random set: what the code is for
    skips = indices.copy()
    skips[1:] -= indices[:-1] + np.uint32(1)
    quotients = skips // divisor
    remainders = skips - quotients * divisor
    # unary code: each quotient is as many zeros, then a one at position ends - 1
    ends = (quotients + np.uint32(1)).cumsum(dtype=np.intp)
    # truncated binary code: remainders below `short` take `width` bits, others one bit more
    longer = remainders >= short
    remainders += longer * short
    last = remainders[longer] & np.uint32(1)  # the extra bits form the third run
    np.right_shift(remainders, longer, out=remainders)
    flags = np.zeros(ends[-1] + indices.size * width + last.size, np.bool_)
    flags[ends - 1] = True
    start = int(ends[-1])
    for bit in range(width):  # bit planes, the lowest first
        flags[start : start + remainders.size] = remainders & np.uint32(1 << bit)
        start += remainders.size
    flags[start:] = last
    return packing.packed(flags).tobytes()


def _read(stream: packing.Bytes, entries: int, size: int) -> tuple[Indices, int]:
    """Return `entries` indices, at most half of `size`, and the bytes used. Inverse of `_write`."""
    if not entries:
        return np.empty(0, np.uint32), 0
    divisor, width, short = _code(entries, size)
    # skips sum to less than `size`, so all quotients sum to at most size / divisor
    max_bits = entries * (width + 2) + size // int(divisor)
    # bounded first: a hostile stream costs no more memory than an honest one
    flags = packing.unpacked(stream[: -(-max_bits // 8)])
    ends = np.flatnonzero(flags[: entries + size // int(divisor)])[:entries]
    start = int(ends[-1]) + 1 if ends.size else 0
    if ends.size < entries or start + entries * width > flags.size:
        raise WireError(f"Golomb code ends before {entries} indices")
    remainders = np.zeros(entries, np.uint32)
    for bit in range(width):
        remainders += flags[start : start + entries] * np.uint32(1 << bit)
        start += entries
    # only now it is known which remainders have an extra bit
    longer = np.flatnonzero(remainders >= short)
    last = flags[start : start + longer.size]
    length = -(-(start + longer.size) // 8)
    if last.size < longer.size or flags[start + longer.size : 8 * length].any():
        raise WireError(f"Golomb code of {entries} indices has no proper end")
    remainders[longer] += remainders[longer] + last - short
    # in 64 bits: a hostile frame may hold any quotients up to size / divisor
    indices = (np.diff(ends, prepend=-1) - 1) * int(divisor) + remainders
    indices += 1
    indices = indices.cumsum() - 1
    if indices[-1] >= size:
        raise WireError(f"index {indices[-1]} of {size}")
    return indices.astype(np.uint32), length


def _code(entries: int, size: int) -> tuple[np.uint32, int, np.uint32]:
    """Return divisor, width, `short`: remainders below `short` take `width` bits, others one
    more."""
    # Gallager & Van Voorhis: ⌈log(2 - p) / -log(1 - p)⌉ with p = entries / size. This is about
    # ⌈(0.6931 - 0.8470 p) / p⌉, off by at most one, in integers: the same on every machine.
    divisor = max(1, -((8_470 * entries - 6_931 * size) // (10_000 * entries)))
    if divisor == 1:
        return np.uint32(1), 0, np.uint32(1)
    width = (divisor - 1).bit_length()
    return np.uint32(divisor), width - 1, np.uint32((1 << width) - divisor)


def _complement(indices: Indices, size: int) -> NDArray[np.uint32]:
    """Return the ascending numbers below `size` that are not in `indices`."""
    is_absent = np.ones(size, np.bool_)
    is_absent[indices] = False
    return np.flatnonzero(is_absent).astype(np.uint32)
