"""The battery of a device in virtual time: drained by the device's work and its messages."""

import math
from collections.abc import Callable

from ....world.battery import CHARGE_STEP, Battery, BatteryConstants
from ....world.links.link import FRAME
from ..clock import Heap

_EXACT = 1.0
"""Seconds before the end from which the battery's event is planned at the very time."""

_ROUNDING = 1e-9
"""Share of the capacity that counts as empty, or as charged."""


class DeviceBattery:
    """Drains and charges a battery, and switches the device when the battery is empty or back.

    Work draws its energy evenly until its planned end, a message at once: when it is given to the
    link, and when it has arrived.
    """

    def __init__(
        self,
        constants: BatteryConstants,
        clock: Heap,
        switch: Callable[[str], None],
        record: Callable[[float], None],
    ) -> None:
        """Begin at the run's zero, which is the clock's present time.

        `switch` does a verb, `kill` or `start`. `record` takes the charge, as a share of the
        capacity.
        """
        self._battery, self._clock, self._zero = Battery(constants), clock, clock.now
        self._switch, self._record = switch, record
        self._on = True
        self._until = -math.inf  # end of the present work
        self._busy = 0.0  # watts that it draws beside `idle`
        self._planned = math.inf  # time of the earliest event that is planned
        self._reported = self._battery.level
        self.empty = False
        """Whether the device is off since its battery was empty."""
        record(self._reported)
        self._plan()

    @property
    def lost(self) -> bool:
        """Whether the battery will never be charged enough for a boot."""
        return self.empty and self._back() == math.inf

    def works(self, seconds: float, until: float) -> None:
        """Let the processor work for `seconds` of a core, evenly from now until `until`.

        This takes the place of work that is under way. Work that is left when the device goes off
        draws nothing.
        """
        self._settle()
        now, joules = self._clock.now, self._battery.constants.drawn(core=seconds)
        self._until = until
        if until > now:
            self._busy = joules / (until - now)
        else:
            self._battery.spend(joules)
        self._plan()

    def sent(self, size: int) -> None:
        """Draw the energy of a message of `size` bytes that the device sends."""
        self._spend(self._battery.constants.drawn(sent=size * FRAME))

    def received(self, size: int) -> None:
        """Draw the energy of a message of `size` bytes that the device has received."""
        self._spend(self._battery.constants.drawn(received=size * FRAME))

    def off(self) -> None:
        """Let the device draw nothing, as it is off for whatever reason."""
        self._settle()
        self._on, self._until = False, -math.inf

    def on(self) -> None:
        """Let the device draw power again."""
        self._settle()
        self._on = True
        self._plan()

    def _spend(self, joules: float) -> None:
        if joules:
            self._settle()
            self._battery.spend(joules)
            self._plan()

    def _settle(self) -> None:
        """Bring the charge up to the present time."""
        now, zero, idle = self._clock.now, self._zero, self._battery.constants.idle
        if not self._on:
            self._battery.advance(now - zero, 0.0)
        else:
            if self._until > -math.inf:
                busy = min(now, self._until) - zero
                self._battery.advance(busy, idle + self._busy)
            self._battery.advance(now - zero, idle)
        if abs(self._battery.level - self._reported) >= CHARGE_STEP:
            self._report()

    def _report(self) -> None:
        if self._battery.level != self._reported:  # the change of a moment has one record
            self._reported = self._battery.level
            self._record(self._reported)

    def _back(self) -> float:
        """Return the time at which the device boots again, on the clock."""
        return self._zero + self._battery.reaches(self._battery.constants.back, 0.0)

    def _plan(self) -> None:
        """Plan a look at the battery, at the time at which it may be empty, or back.

        The work may end before, and messages may come: far from the time, a look at half the way
        finds out, so that not every message has to plan a look of its own.
        """
        now = self._clock.now
        if self.empty:
            due = self._back()
        elif self._on:
            busy = self._busy if self._until > now else 0.0
            due = self._zero + self._battery.reaches(0.0, self._battery.constants.idle + busy)
            if _EXACT < due - now < math.inf:
                due = now + (due - now) / 2
        else:
            return
        if due < self._planned:
            # the next moment at the earliest, or a rounded remainder would never be used up
            self._planned = max(due, math.nextafter(now, math.inf))
            self._clock.at(self._planned, self._look)

    def _look(self) -> None:
        self._planned = math.inf
        self._settle()
        level, back = self._battery.level, self._battery.constants.back
        if self.empty and level >= back - _ROUNDING:
            self.empty = False
            self._report()
            self._switch("start")
        elif not self.empty and self._on and level <= _ROUNDING:
            self.empty = True
            self._report()
            self._switch("kill")
        self._plan()
