"""The fault `availability`: a device is on and off as a trace says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from typing import Annotated, ClassVar, Literal

from ...units import Checked, Seconds
from ..verbs import Action
from .churn import Means, away, back
from .occurrences import Interval
from .on_off_trace import OnOffTrace


@lru_cache(maxsize=4096)
def _parsed(text: str) -> OnOffTrace:
    return OnOffTrace.parse(parted(text)[1])


def parted(text: str) -> tuple[str, str]:
    """Return name and steps of the trace `text`, for example of `home-3: on 0, off 9, end 60`; the
    name is empty for a trace without one."""
    name, _, steps = text.rpartition(":")
    return name.strip(), steps


def _check_traces(texts: Sequence[str]) -> None:
    """Raise ValueError unless `texts` has at least one text, and every text is a trace."""
    if not texts:
        raise ValueError("is empty: name a file with traces, or write them as texts")
    for text in texts:
        OnOffTrace.parse(parted(text)[1])


def _check_speed(speed: float) -> None:
    if not 0 < speed < float("inf"):
        raise ValueError(f"speed is {speed}: write a number above 0")


@dataclass(frozen=True, kw_only=True)
class Availability:
    """Availability: the device goes away and comes back as a trace says, again and again.

    A trace with the name of a device is that device's. Of the others each further device draws
    one.
    """

    always: ClassVar[bool] = True

    kind: Literal["availability"] = "availability"
    trace: Annotated[tuple[str, ...], Checked(_check_traces)]
    """File with one trace (`.csv`, lines such as `3600,off`) or with many (`.json` or `.yaml`,
    FedScale's lists of active and inactive times), relative to the file that names it; or the
    traces as a list of texts, `on 0, off 3600, end 86400`, or `home-3: on 0, …` for the device
    home-3."""
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
        """Yield the times within `interval` at which devices that leave together are off.

        The trace and its start are drawn from `rng`. The iteration may not end if `interval` does
        not.
        """
        return self.episodes_on(None, interval, rng)

    def episodes_on(self, node: str | None, interval: Interval, rng: Random) -> Iterator[Interval]:
        """Yield the times within `interval` at which `node` is off, as `episodes` does."""
        number, start = self.drawn(node, rng)
        for off, on in _parsed(self.trace[number]).times_off(start, self.speed):
            since, until = interval.begin + off, interval.begin + on
            if since >= interval.end:
                return
            yield Interval(max(since, interval.begin), min(until, interval.end))

    def drawn(self, node: str | None, rng: Random) -> tuple[int, float]:
        """Return the index of the trace that `node` plays, and the time of the trace at which it
        begins, drawn from `rng`.

        None stands for devices that leave together.
        """
        pool = self.choices(node)
        # a device with a namesake draws no trace
        number = pool[0 if node in self._named else rng.randrange(len(pool))]
        drawn = rng.random() * _parsed(self.trace[number]).period
        return number, drawn if self.start is None else float(self.start)

    def choices(self, node: str | None) -> Sequence[int]:
        """Return the indices of the traces among which `node` draws: that of its name, or those
        without a name, or all if every trace has one. None as for `drawn`."""
        if node is None:
            return range(len(self.trace))
        return [self._named[node]] if node in self._named else self._others

    @cached_property
    def _named(self) -> dict[str | None, int]:
        """The index of each trace with a name, by its name."""
        names = (parted(text)[0] for text in self.trace)
        return {name: number for number, name in enumerate(names) if name}

    @cached_property
    def _others(self) -> Sequence[int]:
        """The indices of the traces without a name; of all if every trace has one."""
        every = range(len(self.trace))
        return [number for number in every if not parted(self.trace[number])[0]] or every
