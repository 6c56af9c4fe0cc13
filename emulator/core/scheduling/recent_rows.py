"""The latest observations, in bounded memory, for estimates that follow a change."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]


class RecentRows:
    """The last `most` rows of numbers. `take` leaves out rows that an earlier `take` returned,
    except to fill up to `least` rows."""

    def __init__(self, width: int, most: int, least: int) -> None:
        """A row has `width` numbers."""
        # a ring: a fleet has many devices, and an array takes less memory than tuples
        self._ring = np.empty((most, width))
        self._least = least
        self._added = 0
        self._taken = 0

    def add(self, row: ArrayLike) -> None:
        self._ring[self._added % len(self._ring)] = row
        self._added += 1

    def take(self) -> Floats:
        """Return the rows since the last call, the oldest first, or the last `least` if fewer.

        So an estimate from the rows shows a change that came after the last call.
        """
        wanted = max(self._added - self._taken, self._least)
        self._taken = self._added
        number = min(wanted, self._added, len(self._ring))
        return self._ring[np.arange(self._added - number, self._added) % len(self._ring)]
