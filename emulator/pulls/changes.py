"""Which parameters changed since a version, as the indices that the updates since held."""

from collections import deque
from collections.abc import Sequence
from itertools import islice

import numpy as np

from ..vectors import Gradient, Indices

_ROOM = 4
"""How many times over the parameters are logged at most: who is so far behind needs them all."""
_MANY = 8
"""From one in so many on, a table of all parameters is quicker than merging their indices."""


class Changes:
    """Noting costs O(1) an update; asking O(entries logged since), whoever asks."""

    def __init__(self, size: int, version: int) -> None:
        self._size = size
        self._log: deque[Indices] = deque()
        self._entries = 0
        self._newest = version

    def note(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        """The next versions, one for each gradient, which changed what it holds, or everything."""
        self._newest += len(gradients)
        touched = [gradient.indices for gradient in gradients if gradient.indices is not None]
        if everywhere or len(touched) < len(gradients):
            self._log.clear()
            self._entries = 0
            return
        self._log.extend(touched)
        self._entries += sum(one.size for one in touched)
        while self._entries > _ROOM * self._size:
            self._entries -= self._log.popleft().size

    def since(self, version: int) -> Indices | None:
        """What changed after that version, ascending; None where that is not known, or all."""
        behind = self._newest - version
        if not 0 <= behind <= len(self._log):
            return None
        touched = list(islice(reversed(self._log), behind))
        if not touched:
            return np.empty(0, np.uint32)
        if sum(one.size for one in touched) * _MANY < self._size:
            return _merged(touched)
        table = np.zeros(self._size, np.bool_)
        for one in touched:
            table[one] = True
        return np.flatnonzero(table).astype(np.uint32)


def _merged(touched: list[Indices]) -> Indices:
    # each of them ascends, and this sort merges what does: six times quicker than one that does not
    indices = np.concatenate(touched)
    indices.sort(kind="stable")
    first = np.ones(indices.size, np.bool_)
    np.not_equal(indices[1:], indices[:-1], out=first[1:])
    return indices[first]
