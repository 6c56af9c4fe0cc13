"""Counters of repeated events: 100,000 refusals of a node take few lines of the log.

The reasons are worded where a message is checked: in `receive` and `handle` of the parameter
server, in the exchanges with workers, and in the codecs.
"""

import re
from collections.abc import Iterator

import msgspec

from ...plugins.stateful import Held, Stateful

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
