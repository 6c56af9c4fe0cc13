"""Schedules of faults: `Aimed` at a time that the scenario names, or `Recurring` by a law.

A schedule knows no kind of fault, and a kind knows no schedule. `scheduled` joins the two into the
flat class of a scenario's entry, as `{kind: crash, nodes: [a], at: 60s, lasts: 20s}`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, make_dataclass
from random import Random
from typing import Any, NamedTuple

from ..units import Fraction, Seconds
from ..world import laws
from ..world.laws import Law
from ..world.verbs import Action

MOST_FAILURES = 10_000
"""Limit of the failures that one entry of a profile causes on a device: more is a typing error."""


class Interval(NamedTuple):
    """The seconds from `begin` to `end` for which a fault lasts; `end` is infinite for good."""

    begin: float
    end: float


class Scheduled(ABC):
    """A schedule. `scheduled` joins a schedule with a fault, which defines the abstract methods."""

    kind: str

    @abstractmethod
    def begin(self, node: str) -> Action: ...

    @abstractmethod
    def end(self, node: str) -> Action: ...

    def episodes(self, interval: Interval, rng: Random) -> Iterator[Interval]:
        """Yield the parts of `interval` in which the fault strikes, in order.

        Most kinds strike for all of it; a kind that comes and goes draws the parts from `rng`.
        """
        yield interval


@dataclass(frozen=True, kw_only=True)
class Aimed(Scheduled):
    """A fault with named nodes, which strikes once."""

    nodes: tuple[str, ...]
    """Devices to strike, by name; a group's name stands for all of its devices."""
    at: Seconds
    """Time of the strike, counted from the moment at which every node has said hello."""
    lasts: Seconds | None = None
    """Duration of the fault; without `lasts` the fault is for good."""

    def interval(self) -> Interval:
        """Return when the fault lasts."""
        return Interval(self.at, math.inf if self.lasts is None else self.at + self.lasts)


@dataclass(frozen=True, kw_only=True)
class Recurring(Scheduled):
    """A fault of a failure profile, which strikes each device of the profile again and again."""

    every: Law | None = None
    """Up time of a device, a law: from the end of this fault to its next beginning."""
    per_iteration: Fraction | None = None
    """Chance, in place of `every`, that an iteration ends in the fault; the device draws it."""
    lasts: Law | None = None
    """Duration of the fault each time, a law; without `lasts` the first time is for good."""

    def __post_init__(self) -> None:
        if (self.every is None) == (self.per_iteration is None):
            found = "neither" if self.every is None else "both"
            raise ValueError(f"say how often: `every` or `per_iteration` ({found} found)")

    def intervals(self, rng: Random, horizon: float) -> Iterator[Interval]:
        """Yield the failures that begin before `horizon` seconds, drawn from `rng`.

        A longer horizon adds failures and moves no earlier failure. Yields nothing with
        `per_iteration`. Raises ValueError at more than `MOST_FAILURES` failures.
        """
        if self.every is None:
            return
        now = 0.0
        for _ in range(MOST_FAILURES):
            begin = now + self.every.draw(rng)
            if begin >= horizon:
                return
            now = math.inf if self.lasts is None else begin + self.lasts.draw(rng)
            yield Interval(begin, now)
        raise ValueError(f"more than {MOST_FAILURES:,} failures before {Seconds(horizon)}")

    def hazard(self) -> dict[str, Any] | None:
        """Return the configuration for `Hazard`, as JSON; None without `per_iteration`."""
        if self.per_iteration is None:
            return None
        begin = self.begin("")
        return {
            "kind": self.kind,
            "begin": begin.verb,
            "end": self.end("").verb,
            "setting": begin.setting,
            "per_iteration": float(self.per_iteration),
            "lasts": None if self.lasts is None else laws.plain(self.lasts),
        }


def scheduled(
    schedule: type[Scheduled], fault: type, types: Mapping[str, Any] | None = None
) -> type[Scheduled]:
    """Return a class with the fields of `fault` and `schedule`.

    `types` maps names of optional fields to types that replace those of `schedule`.
    """
    joined = make_dataclass(
        f"{schedule.__name__}{fault.__name__}",
        [(name, kind, field(default=None)) for name, kind in (types or {}).items()],
        bases=(fault, schedule),
        frozen=True,
        kw_only=True,
    )
    joined.__doc__ = fault.__doc__
    return joined
