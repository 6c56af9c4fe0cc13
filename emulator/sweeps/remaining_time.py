"""Estimate of the time that the rest of a sweep takes, from the pace of what is done."""

from collections.abc import Sequence
from typing import NamedTuple

_LEAST = 0.05
"""Share of an average point that must be done before there is a pace."""


class InPlay(NamedTuple):
    """Work of a point in play, and the share of it that is done."""

    work: float
    share: float

    @property
    def rest(self) -> float:
        """Part of the work that is not done."""
        return self.work * (1 - self.share)


def seconds_left(
    elapsed: float,
    done: float,
    playing: Sequence[InPlay],
    waiting: Sequence[float],
    cores: int,
) -> float | None:
    """Estimate the remaining wall-clock seconds; None before there is a pace.

    `done` is the work of all points finished in `elapsed` seconds, `waiting` has the work of each
    point to come. The last points cannot be shared among idle cores: a point takes as long as one
    core needs.
    """
    unfinished = len(playing) + len(waiting)
    if not unfinished:
        return 0.0
    progress = done + sum(point.work * point.share for point in playing)
    left = sum(waiting) + sum(point.rest for point in playing)
    if progress < _LEAST * left / unfinished or progress <= 0:
        return None
    per_work = elapsed / progress
    alone = per_work * cores
    return max(per_work * left, *(alone * point.rest for point in playing), 0.0)
