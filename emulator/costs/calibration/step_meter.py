"""Times of a worker's steps, from the CPU clocks of its process and of the server's thread."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ...log.records import Record, StartRecord, UpdateRecord
from ...units import Seconds
from ...world.laws import Fixed, LogNormal
from .record import Calibration, rounded

WARM = 5
"""First steps of each worker, which do not count: they touch memory that later steps reuse."""

REST = 0.05
"""Seconds without work before each step, as a device waits for its link. Other processes use the
caches meanwhile, and a step takes a fifth longer than right after another step."""

STEPS = 30
"""Steps of each worker that count, unless they take longer than `SPAN`."""

SPAN = 2.0
"""Seconds after which `FEW` steps of a worker suffice."""

FEW = 5
"""Least number of steps from which a law is computed."""


@dataclass
class StepMeter:
    """Reads the CPU clocks of a worker and of the server's thread, at the start and each update."""

    rest: float = REST
    """Seconds without work before each step."""
    endless: bool = False
    """Whether the measurement lasts until `stop`; otherwise it ends after `STEPS` steps."""
    clock: Callable[[], float] = field(default=lambda: 0.0)
    """Returns the CPU seconds of the worker."""
    pid: int = 0
    """The worker's process; 0 before it is started."""
    readings: list[float] = field(default_factory=list)
    """CPU seconds of the worker: at the run's start, then at each update."""
    serving: list[float] = field(default_factory=list)
    """CPU seconds of the server's thread, at the same moments."""
    _until: float = math.inf  # monotonic time from which `FEW` steps suffice
    _stopped: bool = False

    def stop(self) -> None:
        """End an `endless` measurement. Called by another thread."""
        self._stopped = True

    def refined(self, calibration: Calibration) -> Calibration:
        """Return `calibration` with the times measured here, if `FEW` steps were measured."""
        if len(self.steps) < FEW:
            return calibration
        return replace(calibration, step=law(self.steps), serve=median(self.served))

    def note(self, record: Record) -> None:
        """Read both clocks if `record` of the server's log is a start or an update, then rest."""
        if isinstance(record, StartRecord | UpdateRecord):
            self.readings.append(self.clock())
            self.serving.append(time.thread_time())
            time.sleep(self.rest)
        if len(self.readings) == 1 + WARM:
            self._until = time.monotonic() + SPAN

    @property
    def steps(self) -> list[float]:
        """Return the worker's CPU seconds between updates, without the first `WARM` steps."""
        return [float(step) for step in np.diff(self.readings[1 + WARM :])]

    @property
    def served(self) -> list[float]:
        """Return the CPU seconds of the server's thread between updates, for the same steps."""
        return [float(time) for time in np.diff(self.serving[1 + WARM :])]

    @property
    def full(self) -> bool:
        """Whether enough steps have been measured."""
        if self.endless:
            return self._stopped
        enough = FEW if time.monotonic() > self._until else STEPS
        return len(self.steps) >= enough


def median(times: list[float]) -> Fixed:
    """Return the law of a constant: the median of `times`, in seconds."""
    return Fixed(Seconds(rounded(float(np.median(times)))))


def law(steps: list[float]) -> LogNormal:
    """Return the log-normal law with the median and the quartiles of `steps`, in seconds.

    Quartiles, not the standard deviation: single disturbed steps change them little.
    """
    low, median, high = np.quantile(steps, [0.25, 0.5, 0.75])
    sigma = math.log(high / low) / 1.349  # a normal law's quartiles are 1.349 sigma apart
    return LogNormal((Seconds(rounded(median)), max(1e-3, rounded(sigma))))
