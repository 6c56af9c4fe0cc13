"""Groups of values with a common scale: a group for each variable that sends any."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices, Vector

_SCALE = np.dtype("<f4")


class CodedValues(NamedTuple):
    """Frames of values, and a mask of the values that were kept."""

    frames: tuple[bytes, ...]
    kept: NDArray[np.bool_] | None = None
    """Flags of the kept values, in the order given; None if every value was kept."""


class Groups(NamedTuple):
    """Start and length of each group among the values."""

    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]

    def each(self, scales: Vector) -> Vector:
        """Return the scale of every value, from one scale a group."""
        return scales.repeat(self.lengths)


def groups(indices: Indices, layout: Layout) -> Groups:
    """Return the groups of `indices` by variable; variables without an index have no group."""
    stops = np.array([stop for _, stop in layout.bounds])
    lengths = np.diff(indices.searchsorted(stops), prepend=0)
    lengths = lengths[lengths > 0]
    return Groups(lengths.cumsum() - lengths, lengths)


def write(scales: Vector) -> bytes:
    """Return `scales` as bytes, float32."""
    return scales.astype(_SCALE, copy=False).tobytes()


def read(frame: Buffer, groups: Groups) -> Vector:
    """Return a positive, finite scale for every group. Raises WireError otherwise."""
    if len(frame) != groups.starts.size * _SCALE.itemsize:
        raise WireError(f"{len(frame)} bytes of scales for {groups.starts.size} variables")
    scales: Vector = np.frombuffer(frame, _SCALE)
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise WireError("a scale is not a positive number")
    return scales
