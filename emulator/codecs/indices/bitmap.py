"""Coding `bitmap`: a bit for each parameter of the model, lowest bit of the first byte first."""

import numpy as np

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices
from .. import packing


def encode(indices: Indices, layout: Layout) -> bytes:
    flags = np.zeros(layout.size, np.bool_)
    flags[indices] = True
    return packing.packed(flags).tobytes()


def decode(frame: Buffer, entries: int, layout: Layout) -> Indices:
    if len(frame) != least(entries, layout):
        raise WireError(f"a bitmap of {len(frame)} bytes for {layout.size} parameters")
    indices = packing.positions(np.frombuffer(frame, np.uint8))
    if indices.size != entries:
        raise WireError(f"a bitmap of {indices.size} indices for {entries} values")
    if entries and indices[-1] >= layout.size:
        raise WireError(f"index {indices[-1]} of {layout.size} parameters")
    return indices


def least(entries: int, layout: Layout) -> int:
    return -(-layout.size // 8)


def header(frame: Buffer) -> int:
    return 0
