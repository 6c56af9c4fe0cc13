"""The battery of a container's device, fed by the kernel's counters of processor time and bytes."""

import math
import os
from collections.abc import Callable
from pathlib import Path

from ..world.battery import CHARGE_STEP, Battery, BatteryConstants

_TICKS = os.sysconf("SC_CLK_TCK")
"""Units of the kernel's counters of processor time in a second."""

PROC = Path("/proc")

AHEAD = 1.0
"""Seconds for which `due` looks ahead."""
MARGIN = 1e-3
"""Seconds after which a level that is reached is passed, whatever the sums are rounded to."""


class BatteryFeed:
    """Drains and charges a battery, and says when the device has to go off or may boot."""

    def __init__(
        self,
        constants: BatteryConstants,
        seconds_of: Callable[[int], float] | None = None,
    ) -> None:
        """`seconds_of` returns the processor time of a process by its id; None: as the kernel
        counts it."""
        self._battery = Battery(constants)
        self._seconds_of = seconds_of or processor_seconds
        self._zero: float | None = None
        self._bytes = 0, 0
        self._process: tuple[int | None, float] = None, 0.0
        self._reported = 2.0  # no level: the first one is reported
        self.empty = False
        """Whether the device is off since its battery was empty."""

    def begin(self, zero: float, bytes_so_far: tuple[int, int]) -> None:
        """Count from `zero` on, a monotonic time; `bytes_so_far` were received and sent before."""
        if self._zero is None:
            self._zero, self._bytes = zero, bytes_so_far

    @property
    def begun(self) -> bool:
        """Whether the run has begun, as far as the device knows."""
        return self._zero is not None

    @property
    def lost(self) -> bool:
        """Whether the battery will never be charged enough for a boot."""
        back = self._battery.constants.back
        return self.empty and self._battery.reaches(back, 0.0) == float("inf")

    def tick(self, now: float, pid: int | None, counted: tuple[int, int]) -> str | None:
        """Drain the battery up to `now`; return the verb to do, `kill` or `start`, if one is due.

        `pid` is the device's process, None while it is off; `counted` are the bytes received and
        sent.
        """
        seconds = self._computed(pid)
        if self._zero is None:
            return None
        constants, battery = self._battery.constants, self._battery
        battery.advance(now - self._zero, 0.0 if pid is None else constants.idle)
        received, sent = (n - before for n, before in zip(counted, self._bytes, strict=True))
        self._bytes = counted
        battery.spend(constants.drawn(core=seconds, received=received, sent=sent))
        if not self.empty and pid is not None and battery.charge <= 0:
            self.empty = True
            return "kill"
        if self.empty and battery.level >= constants.back:
            self.empty = False
            return "start"
        return None

    def due(self, pid: int | None) -> float:
        """Return the monotonic time at which a device that computes no more has to go off, or on.

        Infinite if that is far away. `pid` is the device's process, None while it is off.
        """
        if self._zero is None or (pid is None and not self.empty):
            return math.inf
        constants = self._battery.constants
        level, watts = (constants.back, 0.0) if self.empty else (0.0, constants.idle)
        return self._zero + self._battery.reaches_within(level, watts, AHEAD) + MARGIN

    def news(self) -> float | None:
        """Return the level of the charge if it has changed enough for a record."""
        level = self._battery.level
        if self._zero is None or abs(level - self._reported) < CHARGE_STEP:
            return None
        return self.level()

    def level(self) -> float:
        """Return the charge as a share of the capacity, for a record."""
        self._reported = self._battery.level
        return round(self._battery.level, 6)

    def _computed(self, pid: int | None) -> float:
        """Return the seconds of a core that the process `pid` took since the last call."""
        known, before = self._process
        seconds = 0.0 if pid is None else self._seconds_of(pid)
        self._process = pid, seconds
        return max(0.0, seconds - (before if pid == known else 0.0))


def processor_seconds(pid: int) -> float:
    """Return the processor time of the process `pid`; zero if it has ended."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    # the name of the program, in brackets, may contain spaces; utime and stime are fields 14 and 15
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
