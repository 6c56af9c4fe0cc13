"""Indices as they are, four bytes each (the COO format)."""

import numpy as np

from ...errors import WireError
from ..base import Buffer, Indices

_INDEX = np.dtype("<u4")


def encode(indices: Indices, size: int) -> bytes:
    return indices.astype(_INDEX, copy=False).tobytes()


def decode(frame: Buffer, entries: int, size: int) -> Indices:
    if len(frame) != entries * _INDEX.itemsize:
        raise WireError(f"{len(frame)} bytes of indices for {entries} values")
    indices: Indices = np.frombuffer(frame, _INDEX)
    if (indices[1:] <= indices[:-1]).any():
        raise WireError("indices do not ascend")
    if entries and indices[-1] >= size:
        raise WireError(f"index {indices[-1]} of {size} parameters")
    return indices


def header(frame: Buffer) -> int:
    return 0
