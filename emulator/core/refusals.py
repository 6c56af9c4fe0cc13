"""A counter of refused messages: 100,000 refusals of a node take few lines of the log."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = 16
"""Kinds of refusal that are counted apart for each node; further kinds count as one kind."""

_PARTICULAR = re.compile(r"b?'[^']*'|\"[^\"]*\"|\d+(\.\d+)?")
"""Names and numbers in a reason, in which refusals of one kind differ."""


@dataclass
class _Count:
    reason: str
    """Reason of the latest refusal."""
    total: int = 0
    recorded: int = 0

    def take(self) -> int:
        """Return the number of refusals without a record, and count them as recorded."""
        unrecorded, self.recorded = self.total - self.recorded, self.total
        return unrecorded


class Refusals:
    """Decides which refusals get a record, and how many refusals each record stands for.

    Of each kind and node the first refusal has a record, then the 2nd, 4th, 8th and so on. A record
    stands for all refusals since the record before; `rest` returns the remainder at the end.
    """

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, _Count]] = {}

    def add(self, node: str, reason: str) -> int:
        """Count a refusal; return the count for a record to write now, or 0 for no record."""
        kinds, kind = self._counts.setdefault(node, {}), _PARTICULAR.sub("…", reason)
        if kind not in kinds and len(kinds) >= KINDS:
            kind = ""
        count = kinds.setdefault(kind, _Count(reason))
        count.reason, count.total = reason, count.total + 1
        return 0 if count.total & (count.total - 1) else count.take()

    def rest(self) -> Iterator[tuple[str, str, int]]:
        """Yield node, latest reason and count for each kind that has refusals without a record."""
        for node, kinds in self._counts.items():
            for count in kinds.values():
                if unrecorded := count.take():
                    yield node, count.reason, unrecorded
