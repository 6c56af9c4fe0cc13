"""When faults strike: at a time that the scenario names, or again and again as a law draws it.

A schedule knows no kind and a kind knows no schedule; `scheduled` joins the two into the
flat class that a scenario writes, `{kind: crash, nodes: [a], at: 60s, lasts: 20s}`.
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

MOST = 10_000
"""Failures that one entry of a profile may cause on one device: more is a slip of the pen."""


class Interval(NamedTuple):
    """From when to when a node is struck, in seconds; `end` is infinite for good."""

    begin: float
    end: float


class Scheduled(ABC):
    """A fault and its schedule in one; the fault half supplies what is abstract here."""

    kind: str

    @abstractmethod
    def begin(self, node: str) -> Action: ...

    @abstractmethod
    def end(self, node: str) -> Action: ...


@dataclass(frozen=True, kw_only=True)
class Aimed(Scheduled):
    """Strikes the nodes that it names, once."""

    nodes: tuple[str, ...]
    """Whom it strikes: devices by name, or a group's name for all of its devices."""
    at: Seconds
    """When, counted from the moment at which every device has said hello."""
    lasts: Seconds | None = None
    """How long; without it, for good."""

    def interval(self) -> Interval:
        return Interval(self.at, math.inf if self.lasts is None else self.at + self.lasts)


@dataclass(frozen=True, kw_only=True)
class Recurring(Scheduled):
    """Strikes each device that names its profile, again and again."""

    every: Law | None = None
    """How long a device stays up: from the end of one failure to the beginning of the next."""
    per_iteration: Fraction | None = None
    """Instead of `every`: the chance that an iteration ends in it, drawn by the device."""
    lasts: Law | None = None
    """How long each failure lasts; without it, the first one is for good."""

    def __post_init__(self) -> None:
        if (self.every is None) == (self.per_iteration is None):
            found = "neither" if self.every is None else "both"
            raise ValueError(f"say how often: `every` or `per_iteration` ({found} found)")

    def intervals(self, rng: Random, horizon: float) -> Iterator[Interval]:
        """Those that begin before `horizon`, which a longer one only adds to.

        None if the device draws them itself. Raises ValueError if they are more than `MOST`.
        """
        if self.every is None:
            return
        now = 0.0
        for _ in range(MOST):
            begin = now + self.every.draw(rng)
            if begin >= horizon:
                return
            now = math.inf if self.lasts is None else begin + self.lasts.draw(rng)
            yield Interval(begin, now)
        raise ValueError(f"more than {MOST:,} failures before {Seconds(horizon)}")

    def hazard(self) -> dict[str, Any] | None:
        """What the device needs to draw it, as JSON holds it; None if it can be dated ahead."""
        if self.per_iteration is None:
            return None
        return {
            "kind": self.kind,
            "per_iteration": float(self.per_iteration),
            "lasts": None if self.lasts is None else laws.plain(self.lasts),
        }


def scheduled(
    schedule: type[Scheduled], fault: type, types: Mapping[str, Any] | None = None
) -> type[Scheduled]:
    """The class that has the fields of both; `types` says more of some optional ones."""
    joined = make_dataclass(
        f"{schedule.__name__}{fault.__name__}",
        [(name, kind, field(default=None)) for name, kind in (types or {}).items()],
        bases=(fault, schedule),
        frozen=True,
        kw_only=True,
    )
    joined.__doc__ = fault.__doc__
    return joined
