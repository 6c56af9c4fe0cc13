"""Whether the box that delays packets kept up, from the records of its lateness."""

import math
from dataclasses import dataclass
from typing import Any

from ..records import LatenessRecord

LEAST = 2e-3
"""Seconds by which half of the packets may be late on any link."""
SHARE = 0.05
"""Share of the shortest delay by which half may be late, if that is more than `LEAST`."""
TAIL = 5.0
"""Factor by which one packet in a hundred may be later than half of them."""
KEPT_SHARE = 0.95
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
        """Seconds by which half of the packets may be late; one in a hundred by `TAIL` as many."""
        return max(LEAST, SHARE * self.shortest)


class LatenessSums:
    """Percentiles of each second in which packets left the box, or those of several hosts."""

    def __init__(self) -> None:
        self._p50: list[float] = []
        self._p99: list[float] = []
        self._longest = 0.0
        self._dropped = 0
        self._at: dict[str, float] = {}
        """Time of the last record of each host's box."""
        self._second = math.inf

    def take(self, record: LatenessRecord) -> None:
        """Count a second; one without packets says nothing.

        A box that was stopped for several seconds has one record of all of them.
        """
        lasts = record.at - self._at.get(record.host, -math.inf)
        self._at[record.host] = record.at
        self._dropped += record.dropped
        if lasts > 0:
            self._second = min(self._second, lasts)  # dilated, a real second is a shorter one
        if record.packets:
            seconds = max(1, round(lasts / self._second)) if math.isfinite(lasts) else 1
            self._p50 += [record.p50] * seconds
            self._p99 += [record.p99] * seconds
            self._longest = max(self._longest, record.max)

    def late(self, shaped: Shaped) -> bool:
        """Return whether packets were later than the bound in too many seconds."""
        return _kept(self._p50) > shaped.bound or _kept(self._p99) > TAIL * shaped.bound

    def plain(self, shaped: Shaped) -> dict[str, Any]:
        """Return the entry `shaping` of the summary's `fidelity`."""
        if not self._p99:
            return {"backend": shaped.backend}
        dropped = {"dropped": self._dropped} if self._dropped else {}
        return {
            "backend": shaped.backend,
            "p50": round(_kept(self._p50), 6),
            "p99": round(_kept(self._p99), 6),
            "max": round(self._longest, 6),
            "bound": round(shaped.bound, 6),
            "late": self.late(shaped),
            **dropped,
        }

    def waits(self, least: float) -> str:
        """Return in words how late packets left the box; empty if by less than `least` seconds."""
        late = _kept(self._p99)
        if late < least:
            return ""
        return f"one in a hundred packets left the box {1e3 * late:.1f} ms late or later"

    def reason(self, shaped: Shaped) -> str:
        """Return in words why the run is marked; empty if the box kept up."""
        if not self.late(shaped):
            return ""
        half, hundredth, bound = _kept(self._p50), _kept(self._p99), shaped.bound
        return (
            f"in over {1 - KEPT_SHARE:.0%} of the seconds half of the packets left the box "
            f"{1e3 * half:.1f} ms late or later, and one in a hundred {1e3 * hundredth:.1f} ms: "
            f"{1e3 * bound:.1f} ms and {1e3 * TAIL * bound:.1f} ms are allowed"
        )


def _kept(values: list[float]) -> float:
    """Return what the box kept to in the share `KEPT_SHARE` of the seconds; 0 without any."""
    return sorted(values)[math.ceil(KEPT_SHARE * len(values)) - 1] if values else 0.0
