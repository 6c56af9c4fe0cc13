"""The fault `availability`: a device is on and off as a trace says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Annotated, ClassVar, Literal

from ..units import Checked, Seconds
from ..world.on_off_trace import OnOffTrace
from ..world.verbs import Action
from .churn import Means, away, back
from .occurrences import Interval

_parsed = lru_cache(maxsize=4096)(OnOffTrace.parse)


def _check_traces(texts: Sequence[str]) -> None:
    """Raise ValueError unless `texts` has at least one text, and every text is a trace."""
    if not texts:
        raise ValueError("is empty: name a file with traces, or write them as texts")
    for text in texts:
        OnOffTrace.parse(text)


def _check_speed(speed: float) -> None:
    if not 0 < speed < float("inf"):
        raise ValueError(f"speed is {speed}: write a number above 0")


@dataclass(frozen=True, kw_only=True)
class Availability:
    """Availability: the device goes away and comes back as a trace says, again and again.

    Of several traces each device draws one.
    """

    always: ClassVar[bool] = True

    kind: Literal["availability"] = "availability"
    trace: Annotated[tuple[str, ...], Checked(_check_traces)]
    """File with one trace (`.csv`, lines such as `3600,off`) or with many (`.json` or `.yaml`,
    FedScale's lists of active and inactive times), relative to the file that names it; or the
    traces as a list of texts, `on 0, off 3600, end 86400`."""
    start: Seconds | None = None
    """Time of the trace at which each device begins; without `start` each device draws its own."""
    speed: Annotated[float, Checked(_check_speed)] = 1.0
    """Factor by which the trace runs faster than the run's clock: with 60, an hour of the trace
    passes in a minute."""
    by: Means = "leave"
    """How the device goes away: `leave` says goodbye, `crash` loses power."""

    def begin(self, node: str) -> Action:
        return away(self.by, node, self.kind)

    def end(self, node: str) -> Action:
        return back(self.by, node, self.kind)

    def episodes(self, interval: Interval, rng: Random) -> Iterator[Interval]:
        """Yield the times within `interval` at which the device is off.

        The trace and its start are drawn from `rng`. The iteration may not end if `interval` does
        not.
        """
        trace = _parsed(self.trace[rng.randrange(len(self.trace))])
        drawn = rng.random() * trace.period
        start = drawn if self.start is None else float(self.start)
        for off, on in trace.times_off(start, self.speed):
            since, until = interval.begin + off, interval.begin + on
            if since >= interval.end:
                return
            yield Interval(max(since, interval.begin), min(until, interval.end))
