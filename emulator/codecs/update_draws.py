"""Random numbers of a codec: the same for an update that is encoded whole or by segment."""

from typing import Protocol

import numpy as np

from ..layout import Layout, Segment
from ..vectors import Vector


class Draws(Protocol):
    """Source of a codec's random numbers: a NumPy generator, or the share of one segment."""

    def random(self, size: int, dtype: type[np.float32]) -> Vector:
        """Return `size` float32, uniform from 0 up to, but not including, 1."""

    def bytes(self, length: int, /) -> bytes:
        """Return `length` random bytes."""


class UpdateDraws:
    """The random numbers of an update, drawn for all parameters at once.

    Each segment takes its slice, so a parameter's number does not depend on the segments. An update
    begins with the segment that holds the last layer.
    """

    def __init__(self, draws: Draws, layout: Layout) -> None:
        """Draw from `draws`, the worker's generator, for a model of `layout`."""
        self._draws, self._layout = draws, layout
        self._numbers: Vector | None = None

    def segment(self, segment: Segment) -> "SegmentDraws":
        """Return the source of random numbers for the gradients of `segment`."""
        return SegmentDraws(self, self._draws, self._layout, segment)

    def take(self, segment: Segment) -> Vector:
        """Return the numbers of `segment`, read-only; draw for the whole update if it begins."""
        first, last = segment
        if last == len(self._layout.layers) or self._numbers is None:
            self._numbers = self._draws.random(self._layout.size, np.float32)
            self._numbers.flags.writeable = False
        numbers = self._numbers[self._layout.place(segment)]
        if first == 1:  # the last piece of the update: hold no memory until the next update
            self._numbers = None
        return numbers


class SegmentDraws:
    """A segment's share of a worker's random numbers."""

    def __init__(self, update: UpdateDraws, draws: Draws, layout: Layout, segment: Segment) -> None:
        """Take uniform numbers from `update`, and random bytes from `draws`."""
        self._update, self._draws, self._segment = update, draws, segment
        self._size = layout.part(segment).size

    def random(self, size: int, dtype: type[np.float32]) -> Vector:
        """Return the segment's numbers. Raises ValueError for another `size` or `dtype`."""
        if size != self._size or dtype is not np.float32:
            raise ValueError(f"a segment draws {self._size} float32, not {size} {dtype.__name__}")
        return self._update.take(self._segment)

    def bytes(self, length: int, /) -> bytes:
        """Return bytes of the worker's generator: each segment has bytes of its own."""
        return self._draws.bytes(length)
