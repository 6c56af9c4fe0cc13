"""Values in groups, one for each variable that sends any: those share a scale."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices, Vector

_SCALE = np.dtype("<f4")


class CodedValues(NamedTuple):
    """Values as frames, and which of them these hold; None: all."""

    frames: tuple[bytes, ...]
    kept: NDArray[np.bool_] | None = None


class Groups(NamedTuple):
    """Where each group begins among the values, and how many it has."""

    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]

    def each(self, scales: Vector) -> Vector:
        """The scale of each value."""
        return scales.repeat(self.lengths)


def groups(indices: Indices, layout: Layout) -> Groups:
    """By variable; those that send nothing have no group."""
    stops = np.array([stop for _, stop in layout.bounds])
    lengths = np.diff(indices.searchsorted(stops), prepend=0)
    lengths = lengths[lengths > 0]
    return Groups(lengths.cumsum() - lengths, lengths)


def write(scales: Vector) -> bytes:
    return scales.astype(_SCALE, copy=False).tobytes()


def read(frame: Buffer, groups: Groups) -> Vector:
    """One positive scale for each group."""
    if len(frame) != groups.starts.size * _SCALE.itemsize:
        raise WireError(f"{len(frame)} bytes of scales for {groups.starts.size} variables")
    scales: Vector = np.frombuffer(frame, _SCALE)
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise WireError("a scale is not a positive number")
    return scales
