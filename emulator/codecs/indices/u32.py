"""Coding `u32`: four bytes an index (the COO format)."""

import numpy as np

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices
from .base import ascending

_INDEX = np.dtype("<u4")


def encode(indices: Indices, layout: Layout) -> bytes:
    return indices.astype(_INDEX, copy=False).tobytes()


def decode(frame: Buffer, entries: int, layout: Layout) -> Indices:
    if len(frame) != entries * _INDEX.itemsize:
        raise WireError(f"{len(frame)} bytes of indices for {entries} values")
    return ascending(np.frombuffer(frame, _INDEX), layout.size)


def least(entries: int, layout: Layout) -> int:
    return entries * _INDEX.itemsize


def header(frame: Buffer) -> int:
    return 0
