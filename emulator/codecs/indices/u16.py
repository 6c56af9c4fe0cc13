"""Indices as two bytes each, in blocks of 65,536 parameters.

First comes how many each block of the model has, four bytes a block: without that nobody could
say which parameters are meant, so it counts as indices.
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
    head = stops.size * _COUNT.itemsize
    if len(frame) != head + entries * _INDEX.itemsize:
        raise WireError(f"{len(frame)} bytes of indices for {entries} values")
    counts = np.frombuffer(frame, _COUNT, stops.size)
    if counts.sum(dtype=np.uint64) != entries:
        raise WireError(f"blocks of {counts.sum(dtype=np.uint64)} indices for {entries} values")
    indices: Indices = (stops - _BLOCK).astype(np.uint32).repeat(counts)
    indices += np.frombuffer(frame, _INDEX, offset=head)
    return ascending(indices, layout.size)


def least(entries: int, layout: Layout) -> int:
    return entries * _INDEX.itemsize


def header(frame: Buffer) -> int:
    return 0


def _stops(layout: Layout) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(_BLOCK, layout.size + _BLOCK, _BLOCK)
