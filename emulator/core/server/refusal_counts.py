"""Refused messages of devices: the quarantine of a device, and the counts for the log.

A device whose messages are refused again and again is not heard for a while. The log has few
records of repeated refusals: 100,000 of a node take few lines. The reasons are worded where a
message is checked: in `receive` and `handle` of the parameter server, in the exchanges with
workers, and in the codecs.
"""

import math
import re
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
        if not self._ends:  # a quarantine that has begun has an end
            return None
        return -math.inf if self._begun else min(self._ends.values())

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


KINDS = 16
"""Kinds of refusal that are counted apart for each node; further kinds count as one kind."""

_PARTICULAR = re.compile(r"b?'[^']*'|\"[^\"]*\"|\d+(\.\d+)?")
"""Names and numbers in a reason, in which refusals of one kind differ."""


class Tally(Held, msgspec.Struct):
    """Repeated events of one kind: the 1st, the 2nd, 4th, 8th and so on has a record.

    A record stands for all events since the record before, and has the words of the latest.
    """

    words: str = ""
    """The latest event, in words."""
    total: int = 0
    recorded: int = 0
    size: int = 0
    """Bytes of the events without a record."""
    messages: int = 0
    """Messages of the events without a record."""

    def add(self, words: str = "", size: int = 0, messages: int = 1) -> bool:
        """Count an event of `size` bytes in `messages`; return whether a record is due."""
        self.words, self.total = words, self.total + 1
        self.size += size
        self.messages += messages
        return not self.total & (self.total - 1)

    def take(self) -> tuple[int, int, int]:
        """Return number, bytes and messages of the events without a record, and count them as
        recorded."""
        taken = self.total - self.recorded, self.size, self.messages
        self.recorded, self.size, self.messages = self.total, 0, 0
        return taken


class Refusals(Stateful):
    """Decides which refusals get a record, and how many refusals each record stands for.

    `rest` returns the refusals that have no record at the end.
    """

    STATE = ("_tallies",)

    def __init__(self) -> None:
        self._tallies: dict[str, dict[str, Tally]] = {}

    def add(self, node: str, reason: str) -> int:
        """Count a refusal; return the count for a record to write now, or 0 for no record."""
        kinds, kind = self._tallies.setdefault(node, {}), _PARTICULAR.sub("…", reason)
        if kind not in kinds and len(kinds) >= KINDS:
            kind = ""
        tally = kinds.setdefault(kind, Tally())
        return tally.take()[0] if tally.add(reason) else 0

    def rest(self) -> Iterator[tuple[str, str, int]]:
        """Yield node, latest reason and count for each kind that has refusals without a record."""
        for node, kinds in self._tallies.items():
            for tally in kinds.values():
                if unrecorded := tally.take()[0]:
                    yield node, tally.words, unrecorded
