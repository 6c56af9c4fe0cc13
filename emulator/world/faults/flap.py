"""The fault `flap`: a device's connection comes and goes, as on a flaky Wi-Fi."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from ..laws import Law
from ..verbs import Action
from .occurrences import Interval


@dataclass(frozen=True, kw_only=True)
class Flap:
    """Flap: the device is cut off again and again while the fault lasts, by laws."""

    kind: Literal["flap"] = "flap"
    outage: Law
    """Duration of each cut, a law; the first cut begins with the fault."""
    uptime: Law
    """Time from the end of a cut to the beginning of the next one, a law."""

    def begin(self, node: str) -> Action:
        return Action("sever", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("mend", node, self.kind)

    def episodes(self, interval: Interval, rng: Random) -> Iterator[Interval]:
        """Yield the cuts within `interval`, drawn from `rng`; the last ends with `interval`.

        The iteration may not end if `interval` does not, or if the laws draw zeros.
        """
        begin = interval.begin
        while begin < interval.end:
            end = begin + self.outage.draw(rng)
            yield Interval(begin, min(end, interval.end))
            begin = end + self.uptime.draw(rng)
