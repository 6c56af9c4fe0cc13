"""Where a run stands, worked out from its records as they come."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..runlog import Record
    from ..scenario import Timed

WINDOW = 5.0
"""Seconds over which updates a second are counted."""


@dataclass
class Progress:
    """Fed with records, it knows what a person looking on wants to know."""

    devices: tuple[str, ...]
    timeline: "Sequence[Timed]"
    goal: int | None = None
    now: float = 0.0
    updates: int = 0
    accuracy: float | None = None
    pushed: int = 0
    off: set[str] = field(default_factory=set)
    severed: set[str] = field(default_factory=set)
    refused: int = 0
    _recent: deque[float] = field(default_factory=deque)

    def take(self, record: "Record") -> None:
        node = record.get("node", "")
        match record["what"]:
            case "update":
                self.updates = record["updates"]
                self.pushed += sum(record[k] for k in ("values", "indices", "headers", "framing"))
                self._recent.append(record["at"])
            case "evaluation":
                self.accuracy = record["accuracy"]
            case "kill" | "exit":
                self.off.add(node)
            case "boot":
                self.off.discard(node)
            case "sever":
                self.severed.add(node)
            case "mend":
                self.severed.discard(node)
            case "refused":
                self.refused += 1

    def beat(self, now: float) -> None:
        self.now = now
        while self._recent and self._recent[0] < now - WINDOW:
            self._recent.popleft()

    @property
    def speed(self) -> float:
        """Updates a second, of late."""
        return len(self._recent) / max(1e-9, min(WINDOW, self.now)) if self.now > 0 else 0.0

    @property
    def up(self) -> int:
        return len(self.devices) - len(self.off | self.severed)

    @property
    def next_fault(self) -> str:
        for timed in self.timeline:
            if timed.at > self.now:
                return f"{timed.action.verb} {timed.action.node} at {timed.at:.0f} s"
        return "none"


def amount(size: float) -> str:
    """Bytes as people say them: 1.2 MB (powers of 1000, as networks count)."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")
