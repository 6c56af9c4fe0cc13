"""Sums of quantities over time, in a bounded number of equal intervals."""

from collections.abc import Sequence
from itertools import accumulate

_WIDTH = 0.01
"""Seconds of an interval at the beginning."""
_MOST = 1 << 16
"""Largest number of intervals; with more, neighbours are joined, and all get twice as wide."""


class FlowSums:
    """Quantities that flow, as updates and bytes, with the sums between any two times.

    Within an interval they count as even. An interval is at most 1/32,768 of the time so far, or
    10 ms.
    """

    def __init__(self, quantities: int) -> None:
        self._width = _WIDTH
        self._sums: list[list[float]] = [[] for _ in range(quantities)]
        self._before: list[list[float]] | None = None  # made when it is asked for

    def add(self, at: float, amounts: Sequence[float]) -> None:
        """Add `amounts`, one of each quantity, at the time `at`; earlier than 0 s counts as 0 s."""
        self._before = None
        place = int(max(0.0, at) / self._width)
        while place >= _MOST:
            self._join()
            place = int(max(0.0, at) / self._width)
        for sums, amount in zip(self._sums, amounts, strict=True):
            if place >= len(sums):
                sums.extend([0.0] * (place + 1 - len(sums)))
            sums[place] += amount

    def take_back(self, quantity: int, amount: float) -> None:
        """Take the last `amount` of `quantity`, a place among the quantities, out of the sums."""
        self._before = None
        sums = self._sums[quantity]
        for place in reversed(range(len(sums))):
            if amount <= 0:
                break
            taken = min(sums[place], amount)
            sums[place] -= taken
            amount -= taken

    def between(self, begin: float, end: float) -> list[float]:
        """Return the sum of each quantity from `begin` to `end`; zeros if `end` is not later."""
        if end <= begin:
            return [0.0] * len(self._sums)
        first, last = begin / self._width, end / self._width
        return [_part(*own, last) - _part(*own, first) for own in self._totals()]

    def _totals(self) -> list[tuple[list[float], list[float]]]:
        """Return the sums of each quantity, and those up to the beginning of each interval."""
        if self._before is None:
            self._before = [[0.0, *accumulate(sums)] for sums in self._sums]
        return [*zip(self._sums, self._before, strict=True)]

    def _join(self) -> None:
        self._width *= 2
        for sums in self._sums:
            odd = [*sums[1::2], 0.0] if len(sums) % 2 else sums[1::2]
            sums[:] = [a + b for a, b in zip(sums[::2], odd, strict=True)]


def _part(sums: Sequence[float], before: Sequence[float], place: float) -> float:
    """Return the sum of `sums` up to `place`, which may lie within an item."""
    whole = min(int(place), len(sums))
    rest = sums[whole] * (place - whole) if whole < len(sums) else 0.0
    return before[whole] + rest
