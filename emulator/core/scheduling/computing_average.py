"""Moving average of the computing times of a device's layers."""

import numpy as np

from .recent_rows import RecentRows

MOST = 32
"""Largest number of iterations that an average is taken of."""
LEAST = 5
"""Iterations that an average is taken of after a shorter interval, if there are as many."""


class ComputingAverage:
    """Means over the iterations since the last plan, without the slowest and fastest of them.

    Whole iterations are left out, not single times: under a CPU quota each iteration stops for a
    while, in another layer each time, and that belongs to its cost.
    """

    def __init__(self, forward: tuple[float, ...], backward: tuple[float, ...]) -> None:
        """Begin with the seconds of each layer in `forward` and `backward`, until measured."""
        self._means = np.array([*forward, *backward])
        self._rows = RecentRows(self._means.size, MOST, LEAST)

    def add(self, forward: list[float], backward: list[float]) -> None:
        """Add an iteration: the seconds of each layer, layer 1 first."""
        self._rows.add([*forward, *backward])

    def means(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the mean seconds of each layer, forward and backward, since the last call."""
        rows = self._rows.take()
        if len(rows):
            order = rows.sum(axis=1).argsort(kind="stable")
            # a tenth at both ends, and one of five
            cut = max(len(order) // 10, int(len(order) >= LEAST))
            self._means = rows[order[cut : len(order) - cut]].mean(axis=0)
        forward, backward = self._means.reshape(2, -1).tolist()
        return tuple(forward), tuple(backward)
