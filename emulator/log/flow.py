"""Sums of quantities over time: exact at first, then in a bounded number of equal intervals."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

_EXACT = 1 << 16
"""Largest number of additions that are kept one by one."""
_WIDTH = 0.01
"""Seconds of an interval at the beginning."""
_MOST = 1 << 16
"""Largest number of intervals; with more, neighbours are joined, and all get twice as wide."""


class FlowSums:
    """Quantities that flow, as updates and bytes, with the sums between any two times.

    The first `_EXACT` additions are kept with their times. With more the sums are those of
    intervals, within which the quantities count as even: an interval is at most 1/32,768 of the
    time so far, or 10 ms.
    """

    def __init__(self, quantities: int) -> None:
        self._additions: list[tuple[float, Sequence[float]]] | None = []  # None: in intervals
        self._exact: tuple[list[float], list[list[float]]] | None = None  # made when asked for
        self._width = _WIDTH
        self._sums: list[list[float]] = [[] for _ in range(quantities)]
        self._before: list[list[float]] | None = None  # made when it is asked for

    def add(self, at: float, amounts: Sequence[float]) -> None:
        """Add `amounts`, one of each quantity, at the time `at`; earlier than 0 s counts as 0 s."""
        self._exact = None
        if self._additions is None:
            self._put(at, amounts)
            return
        self._additions.append((max(0.0, at), amounts))
        if len(self._additions) > _EXACT:
            for time, added in self._additions:
                self._put(time, added)
            self._additions = None

    def _put(self, at: float, amounts: Sequence[float]) -> None:
        """Add `amounts` to the interval of `at`."""
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
        self._exact = self._before = None
        if self._additions is not None:
            self._take_additions_back(self._additions, quantity, amount)
            return
        sums = self._sums[quantity]
        for place in reversed(range(len(sums))):
            if amount <= 0:
                break
            taken = min(sums[place], amount)
            sums[place] -= taken
            amount -= taken

    def _take_additions_back(
        self, additions: list[tuple[float, Sequence[float]]], quantity: int, amount: float
    ) -> None:
        for place in reversed(range(len(additions))):
            if amount <= 0:
                break
            at, amounts = additions[place]
            taken = min(amounts[quantity], amount)
            left = [*amounts[:quantity], amounts[quantity] - taken, *amounts[quantity + 1 :]]
            additions[place] = at, left
            amount -= taken

    def between(self, begin: float, end: float) -> list[float]:
        """Return the sum of each quantity from `begin` to `end`; zeros if `end` is not later.

        An addition at `end` counts only if it is the last: an update may end the run.
        """
        if end <= begin:
            return [0.0] * len(self._sums)
        if self._additions is not None:
            times, totals = self._in_order(self._additions)
            first = bisect_left(times, begin)
            last = bisect_left(times, end) if times and end < times[-1] else len(times)
            return [total[last] - total[first] for total in totals]
        places = begin / self._width, end / self._width
        return [_part(*own, places[1]) - _part(*own, places[0]) for own in self._totals()]

    def _in_order(
        self, additions: list[tuple[float, Sequence[float]]]
    ) -> tuple[list[float], list[list[float]]]:
        """Return the times of `additions` in ascending order, and each quantity's running sums."""
        if self._exact is None:
            ordered = sorted(additions, key=lambda addition: addition[0])
            totals = [
                [0.0, *accumulate(amounts[quantity] for _, amounts in ordered)]
                for quantity in range(len(self._sums))
            ]
            self._exact = [at for at, _ in ordered], totals
        return self._exact

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
