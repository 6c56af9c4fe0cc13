"""The clock of a run in containers: a world that is played slower than real time."""

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class EmulatedClock:
    """The host's monotonic clock in emulated seconds, each of `dilation` real seconds.

    Containers on one host share the host's clock, so a reading taken at the server means the same
    instant to a device and to the process that conducts the run.
    """

    dilation: float = 1.0

    def now(self) -> float:
        """Return the reading of the clock in emulated seconds, from an arbitrary origin."""
        return time.monotonic() / self.dilation

    def sleep(self, seconds: float) -> None:
        """Suspend this thread for `seconds` emulated seconds."""
        time.sleep(self.real(seconds))

    def real(self, seconds: float) -> float:
        """Return the real seconds that `seconds` emulated seconds take."""
        return seconds * self.dilation

    def emulated(self, seconds: float) -> float:
        """Return the emulated seconds that pass in `seconds` real seconds.

        It also turns a reading of the host's monotonic clock into one of this clock.
        """
        return seconds / self.dilation


UNDILATED = EmulatedClock()
"""The clock of a world that is played in real time."""
