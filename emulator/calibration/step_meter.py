"""Times of a worker's steps, from the CPU clocks of its process and of the server's thread."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..log.writing import Record
from ..units import Seconds
from ..world.laws import Fixed, LogNormal
from .record import Calibration, rounded

WARM = 5
"""Steps of each that do not count: the memory that the later ones use again is new to them."""

REST = 0.05
"""Seconds without work before each step: a device waits for its link, and others use the caches.
A step takes a fifth longer then than right after another."""

STEPS = 30
"""Steps of each that count, if they do not take longer than `SPAN`."""

SPAN = 2.0
"""Seconds after which a few steps of a worker must do."""

FEW = 5


@dataclass
class StepMeter:
    """Reads a worker's CPU clock, and that of the server's thread, at its hello and its updates."""

    rest: float = REST
    """Seconds without work before each step."""
    endless: bool = False
    """Whether only `stop` ends it, from another thread; otherwise `STEPS` do."""
    clock: Callable[[], float] = field(default=lambda: 0.0)
    """Reads the CPU time of the worker."""
    readings: list[float] = field(default_factory=list)
    serving: list[float] = field(default_factory=list)
    _until: float = math.inf
    _stopped: bool = False

    def stop(self) -> None:
        self._stopped = True

    def refined(self, found: Calibration) -> Calibration:
        """With what was read here of a step and of the server, if it is enough to tell."""
        if len(self.steps) < FEW:
            return found
        return replace(found, step=law(self.steps), serve=median(self.served))

    def note(self, record: Record) -> None:
        if record["what"] in ("start", "update"):
            self.readings.append(self.clock())
            self.serving.append(time.thread_time())
            time.sleep(self.rest)
        if len(self.readings) == 1 + WARM:
            self._until = time.monotonic() + SPAN

    @property
    def steps(self) -> list[float]:
        """CPU time from each update to the next, once warm."""
        return [float(step) for step in np.diff(self.readings[1 + WARM :])]

    @property
    def served(self) -> list[float]:
        """CPU time of the thread that is the server, from each update to the next."""
        return [float(time) for time in np.diff(self.serving[1 + WARM :])]

    @property
    def full(self) -> bool:
        if self.endless:
            return self._stopped
        enough = FEW if time.monotonic() > self._until else STEPS
        return len(self.steps) >= enough


def median(times: list[float]) -> Fixed:
    """The law that it is always their median."""
    return Fixed(Seconds(rounded(float(np.median(times)))))


def law(steps: list[float]) -> LogNormal:
    """The log-normal law with their median and quartiles: single ones that went astray change it
    little."""
    low, median, high = np.quantile(steps, [0.25, 0.5, 0.75])
    sigma = math.log(high / low) / 1.349  # how many sigmas a normal law's quartiles are apart
    return LogNormal((Seconds(rounded(median)), max(1e-3, rounded(sigma))))
