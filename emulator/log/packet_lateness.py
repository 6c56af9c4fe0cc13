"""Whether the box that delays packets kept up, from the records of its lateness."""

import math
import statistics
from dataclasses import dataclass
from typing import Any

from .records import LatenessRecord

LEAST = 2e-3
"""Seconds by which packets may be late on any link."""
SHARE = 0.05
"""Share of the shortest delay by which packets may be late, if that is more than `LEAST`."""
KEPT = 0.95
"""Share of the seconds in which the box must keep to the bound."""


@dataclass(frozen=True)
class Shaped:
    """The means by which the links of a run were delayed."""

    backend: str
    """`netem`, `packets` or `receiver`."""
    shortest: float = 0.0
    """Shortest delay of a link through the box in seconds; 0 without one."""

    @property
    def bound(self) -> float:
        """Seconds by which one packet in a hundred may be late."""
        return max(LEAST, SHARE * self.shortest)


class LatenessSums:
    """Percentiles of each second in which packets left the box."""

    def __init__(self) -> None:
        self._p50: list[float] = []
        self._p99: list[float] = []
        self._longest = 0.0

    def take(self, record: LatenessRecord) -> None:
        """Count a second; one without packets says nothing."""
        if record.packets:
            self._p50.append(record.p50)
            self._p99.append(record.p99)
            self._longest = max(self._longest, record.max)

    @property
    def p99(self) -> float:
        """The 99th percentile that the box kept to in the share `KEPT` of the seconds."""
        return sorted(self._p99)[math.ceil(KEPT * len(self._p99)) - 1] if self._p99 else 0.0

    def late(self, shaped: Shaped) -> bool:
        """Return whether packets were later than the bound in too many seconds."""
        return self.p99 > shaped.bound

    def plain(self, shaped: Shaped) -> dict[str, Any]:
        """Return the entry `shaping` of the summary's `fidelity`."""
        if not self._p99:
            return {"backend": shaped.backend}
        return {
            "backend": shaped.backend,
            "p50": round(statistics.median(self._p50), 6),
            "p99": round(self.p99, 6),
            "max": round(self._longest, 6),
            "bound": round(shaped.bound, 6),
            "late": self.late(shaped),
        }

    def reason(self, shaped: Shaped) -> str:
        """Return in words why the run is marked; empty if the box kept up."""
        if not self.late(shaped):
            return ""
        return (
            f"one packet in a hundred left the box {1e3 * self.p99:.1f} ms late or later in over "
            f"{1 - KEPT:.0%} of the seconds, and {1e3 * shaped.bound:.1f} ms are allowed"
        )
