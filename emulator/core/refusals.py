"""Refused messages, counted: a hundred thousand of them from one node take some lines of log."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = 16
"""Kinds of refusal that are told apart for each node; further ones count as one kind."""

_PARTICULAR = re.compile(r"b?'[^']*'|\"[^\"]*\"|\d+(\.\d+)?")
"""What differs between refusals of a kind: names and numbers."""


@dataclass
class _Count:
    reason: str
    """Of the latest."""
    total: int = 0
    recorded: int = 0

    def take(self) -> int:
        """Return how many are not recorded yet; from now on they are."""
        unrecorded, self.recorded = self.total - self.recorded, self.total
        return unrecorded


class Refusals:
    """Says which refusals to put on record, and for how many each of the records stands.

    The first of each kind and node has a record, then each whose number is a power of two: one
    that stands for all since the record before. `rest` has those that are left in the end.
    """

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, _Count]] = {}

    def add(self, node: str, reason: str) -> int:
        """Count one more refusal; return for how many to write a record now, or 0."""
        kinds, kind = self._counts.setdefault(node, {}), _PARTICULAR.sub("…", reason)
        if kind not in kinds and len(kinds) >= KINDS:
            kind = ""
        count = kinds.setdefault(kind, _Count(reason))
        count.reason, count.total = reason, count.total + 1
        return 0 if count.total & (count.total - 1) else count.take()

    def rest(self) -> Iterator[tuple[str, str, int]]:
        """Yield node, latest reason and number of those that no record stands for yet."""
        for node, kinds in self._counts.items():
            for count in kinds.values():
                if unrecorded := count.take():
                    yield node, count.reason, unrecorded
