"""Quarantine: a device whose messages are refused again and again is not heard for a while."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from ...plugins.stateful import Held, Stateful


class QuarantineRule(msgspec.Struct, frozen=True):
    """When a device goes into quarantine, and for how long."""

    refusals: int
    """Refused messages that bring a device into quarantine."""
    within: float
    """Seconds in which the refusals come."""
    lasts: float
    """Seconds of a device's first quarantine; each further one lasts twice as long."""


class Turn(NamedTuple):
    """The begin or the end of a quarantine."""

    node: str
    until: float | None
    """End of a quarantine that begins; None: the quarantine has ended."""


class _Suspect(Held, msgspec.Struct):
    times: list[float] = msgspec.field(default_factory=list)
    """Times of the latest refusals, at most `QuarantineRule.refusals`."""
    quarantines: int = 0


class Quarantine(Stateful):
    """The devices in quarantine, and the refusals of the others. Times are of one clock."""

    STATE = ("_suspects", "_begun", "_ends", "_silent")

    def __init__(self, rule: QuarantineRule | None) -> None:
        """Without a `rule` no device goes into quarantine."""
        self._rule = rule
        self._suspects: dict[str, _Suspect] = {}
        self._begun: list[str] = []
        self._ends: dict[str, float] = {}
        self._silent: set[str] = set()  # devices that have not asked since their quarantine

    def refused(self, node: str, now: float) -> None:
        """Count a refusal of `node`, whose quarantine begins with the next `turns` if it is due."""
        rule = self._rule
        if rule is None or node in self._ends:
            return
        suspect = self._suspects.setdefault(node, _Suspect())
        suspect.times = [*suspect.times, now][-rule.refusals :]
        if len(suspect.times) < rule.refusals or now - suspect.times[0] > rule.within:
            return
        suspect.times.clear()
        self._begun.append(node)
        self._ends[node] = now + rule.lasts * 2**suspect.quarantines
        suspect.quarantines += 1

    def holds(self, node: str) -> bool:
        """Return whether `node` is in quarantine."""
        return node in self._ends

    def speaks(self, node: str) -> bool:
        """Note that `node` asks; return whether it is the first time since its quarantine."""
        if node not in self._silent:
            return False
        self._silent.discard(node)
        return True

    def deadline(self) -> float | None:
        """Return the time at which to call `turns`; None if no device is in quarantine."""
        return -math.inf if self._begun else min(self._ends.values(), default=None)

    def turns(self, now: float) -> Iterator[Turn]:
        """Yield the quarantines begun since the last call, then the ones that end by `now`."""
        begun, self._begun = self._begun, []
        for node in begun:
            self._silent.discard(node)
            yield Turn(node, self._ends[node])
        for node in [node for node, end in self._ends.items() if end <= now]:
            del self._ends[node]
            self._silent.add(node)
            yield Turn(node, None)
