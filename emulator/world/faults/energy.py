"""The fault `energy`: a device on a battery, off when the battery is empty."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, ClassVar, Literal

from ...units import Checked, Fraction, Joules, Seconds, Watts
from ..battery import BatteryConstants, Charging
from ..verbs import Action
from .occurrences import Interval


@dataclass(frozen=True, kw_only=True)
class Recharge:
    """A daily span of time in which a battery is charged."""

    begin: Seconds
    """Time of day at which the charging begins, counted from midnight, for example `22h`."""
    end: Seconds
    """Time of day at which the charging ends; before `begin` it is that of the next day."""
    power: Watts
    """Power of the charger."""


def _check_capacity(joules: Joules) -> None:
    if not joules > 0:
        raise ValueError(f"{joules} is no battery: write an energy above zero")


def _check_day(day: Seconds) -> None:
    if day < 1:
        raise ValueError(f"a day of {day} is too short: write 1s or more")


def _check_level(level: Fraction) -> None:
    if not 0 < level <= 1:
        raise ValueError(f"{level} is no charge of a battery: write a share above 0% up to 100%")


Level = Annotated[Fraction, Checked(_check_level)]


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Energy: the device lives on a battery, is off when the battery is empty, and boots again."""

    always: ClassVar[bool] = True
    by_itself: ClassVar[bool] = True

    kind: Literal["energy"] = "energy"
    capacity: Annotated[Joules, Checked(_check_capacity)]
    """Energy of the full battery, for example `10Wh`."""
    idle: Watts = Watts(0)
    """Power that the device draws while it is on, whatever it does."""
    core: Joules = Joules(0)
    """Energy of a second of a core, beside `idle`."""
    sent: Joules = Joules(0)
    """Energy of a byte that leaves the device, on its interface."""
    received: Joules = Joules(0)
    """Energy of a byte that reaches the device, on its interface."""
    starts: Level = Fraction(1)
    """Charge with which the run begins."""
    back: Level = Fraction(0.2)
    """Charge at which a device that was empty boots again."""
    recharge: tuple[Recharge, ...] = ()
    """Daily spans of time in which the battery is charged, for example
    `[{begin: 22h, end: 6h, power: 5W}]`; without them it is never charged."""
    clock: Seconds = Seconds(0)
    """Time of day when the run begins."""
    day: Annotated[Seconds, Checked(_check_day)] = Seconds(24 * 3600)
    """Length of a day: a shorter one lets a short run see several."""

    def __post_init__(self) -> None:
        for number, span in enumerate(self.recharge):
            for name, time in (("begin", span.begin), ("end", span.end)):
                if time > self.day:
                    raise ValueError(
                        f"recharge[{number}].{name} is {time}, and a day has {self.day}: write a "
                        "time of day, or a longer `day`"
                    )
        if (schedule := getattr(super(), "__post_init__", None)) is not None:
            schedule()

    def begin(self, node: str) -> Action:
        return Action("kill", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("start", node, self.kind)

    def episodes(self, interval: Interval, rng: Random) -> Iterator[Interval]:
        """Yield nothing: the device finds out when its battery is empty."""
        return iter(())

    @property
    def battery(self) -> dict[str, Any]:
        """The constants of the battery, as plain JSON for `BatteryConstants.read`."""
        return BatteryConstants(
            capacity=float(self.capacity),
            idle=float(self.idle),
            core=float(self.core),
            sent=float(self.sent),
            received=float(self.received),
            starts=float(self.starts),
            back=float(self.back),
            clock=float(self.clock),
            day=float(self.day),
            charging=tuple(Charging(*map(float, (s.begin, s.end, s.power))) for s in self.recharge),
        ).plain
