"""A battery: energy for a device, and a charger with a daily schedule.

Times are seconds since the run's zero. Between two calls the device draws a constant power, so each
answer is exact. A scenario gives a device a battery by the fault `world/faults/energy.py`.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

CHARGE_STEP = 0.05
"""Share of the capacity by which the charge changes between two records."""
HORIZON = 400
"""Days for which a battery looks ahead: one that lasts longer counts as one that lasts for good."""


class Charging(NamedTuple):
    """A daily span of time in which the battery is charged."""

    begin: float
    """Seconds since midnight."""
    end: float
    """Seconds since midnight; at or before `begin` the span ends on the next day."""
    watts: float


class BatteryConstants(NamedTuple):
    """The constants of a battery and of its device, in joules, watts and seconds."""

    capacity: float
    idle: float
    """Watts that a device draws while it is on."""
    core: float
    """Joules for each second of a core."""
    sent: float
    """Joules for each byte sent."""
    received: float
    """Joules for each byte received."""
    starts: float
    """Share of the capacity with which the run begins."""
    back: float
    """Share of the capacity at which a device that was empty boots again."""
    clock: float
    """Time of day at the run's zero."""
    day: float
    """Length of a day."""
    charging: tuple[Charging, ...] = ()

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> "BatteryConstants":
        """Make the constants from the mapping that `plain` returned."""
        charging = tuple(Charging(*span) for span in plain["charging"])
        return cls(**{**plain, "charging": charging})

    def drawn(self, *, core: float = 0.0, received: float = 0, sent: float = 0) -> float:
        """Return the joules that `core` seconds of a core, and bytes on the wire, draw."""
        return self.core * core + self.received * received + self.sent * sent

    @property
    def plain(self) -> dict[str, Any]:
        """The constants as plain JSON."""
        return {**self._asdict(), "charging": [list(span) for span in self.charging]}


class Battery:
    """The charge of a battery at the time of the last call."""

    def __init__(self, constants: BatteryConstants) -> None:
        """Begin at the run's zero with the first charge."""
        self.constants = constants
        self.charge = constants.capacity * constants.starts
        """Joules."""
        self._now = 0.0

    @property
    def level(self) -> float:
        """The charge as a share of the capacity, from 0 to 1."""
        return self.charge / self.constants.capacity

    def advance(self, now: float, watts: float) -> None:
        """Let the device draw `watts` from the last call until `now`."""
        for seconds, power in self._powers(self._now, now, watts):
            self.charge = self._bounded(self.charge + seconds * power)
        self._now = max(self._now, now)

    def spend(self, joules: float) -> None:
        """Draw `joules` at once."""
        self.charge = self._bounded(self.charge - joules)

    def reaches(self, level: float, watts: float) -> float:
        """Return the time at which the charge is at `level`, if the device draws `watts`.

        Infinite if the charge never gets there.
        """
        wanted, charge, now = level * self.constants.capacity, self.charge, self._now
        if charge == wanted:
            return now
        above, days, before = charge > wanted, 0, charge
        while days < HORIZON:
            for seconds, power in self._powers(now, now + self.constants.day, watts):
                after = charge + seconds * power
                if (after <= wanted) if above else (after >= wanted):
                    return now + (wanted - charge) / power
                charge, now = self._bounded(after), now + seconds
            if charge == before:  # each day is as the one before
                return math.inf
            before, days = charge, days + 1
        return math.inf

    def reaches_within(self, level: float, watts: float, horizon: float) -> float:
        """Return the time at which the charge is at `level`, if the device draws `watts`.

        Infinite if that is more than `horizon` seconds away.
        """
        wanted, charge, now = level * self.constants.capacity, self.charge, self._now
        for seconds, power in self._powers(now, now + horizon, watts):
            after = charge + seconds * power
            if min(charge, after) <= wanted <= max(charge, after):
                return now + ((wanted - charge) / power if power else 0.0)
            charge, now = self._bounded(after), now + seconds
        return math.inf

    def _powers(self, begin: float, end: float, watts: float) -> Iterator[tuple[float, float]]:
        """Yield the spans from `begin` to `end`: seconds, and the watts by which the charge grows
        meanwhile."""
        day, clock = self.constants.day, self.constants.clock
        while begin < end:
            time = (begin + clock) % day
            gained, until = 0.0, day
            for charging in self.constants.charging:
                if _within(charging, time):
                    gained += charging.watts
                until = min(until, *(edge for edge in charging[:2] if edge > time), until)
            # a remainder may come out just below an edge: a span of a nanosecond at least goes on
            span = min(max(until - time, 1e-9), end - begin)
            yield span, gained - watts
            begin = begin + span if begin + span > begin else end

    def _bounded(self, charge: float) -> float:
        return min(self.constants.capacity, max(0.0, charge))


def _within(charging: Charging, time: float) -> bool:
    """Return whether the `time` of day is in the span of `charging`."""
    if charging.begin < charging.end:
        return charging.begin <= time < charging.end
    return time >= charging.begin or time < charging.end
