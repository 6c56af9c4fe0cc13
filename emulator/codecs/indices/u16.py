"""Coding `u16`: two bytes an index, in blocks of 65,536 parameters.

The frame begins with the number of indices in each block, four bytes a block. An index means
nothing without these counts, so they count as index bytes, not as a header.
"""

import numpy as np

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices
from .base import ascending

_BLOCK = 1 << 16
_COUNT, _INDEX = np.dtype("<u4"), np.dtype("<u2")


def encode(indices: Indices, layout: Layout) -> bytes:
    counts = np.diff(indices.searchsorted(_stops(layout)), prepend=0)
    return counts.astype(_COUNT).tobytes() + indices.astype(_INDEX).tobytes()


def decode(frame: Buffer, entries: int, layout: Layout) -> Indices:
    stops = _stops(layout)
    head_bytes = stops.size * _COUNT.itemsize
    if len(frame) != head_bytes + entries * _INDEX.itemsize:
        raise WireError(f"{len(frame)} bytes of indices for {entries} values")
    counts = np.frombuffer(frame, _COUNT, stops.size)
    if counts.sum(dtype=np.uint64) != entries:
        raise WireError(f"blocks of {counts.sum(dtype=np.uint64)} indices for {entries} values")
    # the low 16 bits of an index, plus the first parameter of its block
    indices: Indices = (stops - _BLOCK).astype(np.uint32).repeat(counts)
    indices += np.frombuffer(frame, _INDEX, offset=head_bytes)
    return ascending(indices, layout.size)


def least(entries: int, layout: Layout) -> int:
    return entries * _INDEX.itemsize


def header(frame: Buffer) -> int:
    return 0


def _stops(layout: Layout) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the parameter after the last of each block."""
    return np.arange(_BLOCK, layout.size + _BLOCK, _BLOCK)
