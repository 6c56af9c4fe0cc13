"""The fault `churn`: a device comes and goes, as the members of a volunteers' network do."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Literal

from ..laws import Law
from ..verbs import Action
from .base import Fault
from .crash import Crash
from .leave import Departure
from .occurrences import Interval

Means = Literal["leave", "crash"]
"""How a device goes away: with a goodbye, or by a loss of power."""

_KINDS: dict[Means, Fault] = {"leave": Departure(), "crash": Crash()}


@dataclass(frozen=True, kw_only=True)
class Churn:
    """Churn: the device is on for a while and off for a while, in turns, by laws."""

    always: ClassVar[bool] = True

    kind: Literal["churn"] = "churn"
    on: Law
    """Time for which the device is on, a law; it begins on."""
    off: Law
    """Time for which the device is off, a law."""
    by: Means = "leave"
    """How the device goes away: `leave` says goodbye, `crash` loses power."""

    def begin(self, node: str) -> Action:
        return away(self.by, node, self.kind)

    def end(self, node: str) -> Action:
        return back(self.by, node, self.kind)

    def episodes(self, interval: Interval, rng: Random) -> Iterator[Interval]:
        """Yield the times within `interval` at which the device is off, drawn from `rng`.

        The iteration may not end if `interval` does not, or if the laws draw zeros.
        """
        begin = interval.begin + self.on.draw(rng)
        while begin < interval.end:
            end = begin + self.off.draw(rng)
            yield Interval(begin, min(end, interval.end))
            begin = end + self.on.draw(rng)


def away(by: Means, node: str, kind: str) -> Action:
    """Return the action that takes `node` away, for a fault of `kind`."""
    return Action(_KINDS[by].begin(node).verb, node, kind)


def back(by: Means, node: str, kind: str) -> Action:
    """Return the action that brings `node` back, for a fault of `kind`."""
    return Action(_KINDS[by].end(node).verb, node, kind)
