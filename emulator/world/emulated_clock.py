"""The time of a run in containers, a world that may be played slower than real time.

`EmulatedClock` reads this time, and `WorkPace` makes a core slower by the same factor. A CPU quota
does not make a core slower. It is a budget for a period, and work that fits into the budget is done
at the full speed of the host's core. So a process rests after its work.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar


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


T = TypeVar("T")


class TimedWork(NamedTuple, Generic[T]):
    """The result of work, and readings of the emulated clock before and after the work."""

    result: T
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        """Emulated seconds that the work took, with the rest after it."""
        return self.ended - self.began


class WorkPace:
    """Makes work take as many emulated seconds as it took seconds of a core."""

    def __init__(
        self, clock: EmulatedClock, spent: Callable[[], float] = time.process_time
    ) -> None:
        """`spent` returns the seconds of a core that the work has taken so far; default: the work
        of this process."""
        self._clock, self._spent = clock, spent
        self.begin()

    @classmethod
    def of_thread(cls, clock: EmulatedClock) -> "WorkPace":
        """Return the pace of the calling thread's work alone."""
        return cls(clock, time.thread_time)

    def begin(self) -> None:
        """Count the work from here on, for example as a wait for a message is over."""
        if self._clock.dilation != 1:
            self._began, self._before = self._clock.now(), self._spent()

    def rest(self) -> None:
        """Sleep until the work since `begin` has taken its time, and count anew.

        Time that the kernel let the process wait for its CPU quota counts as rest.
        """
        if self._clock.dilation != 1:
            due = self._began + self._spent() - self._before
            self._clock.sleep(max(0.0, due - self._clock.now()))
            self.begin()

    @property
    def rests(self) -> bool:
        """Whether work is followed by a rest."""
        return self._clock.dilation != 1

    def timed(self, work: Callable[[], T]) -> TimedWork[T]:
        """Call `work`, and rest; return the result and the times."""
        self.begin()
        began = self._clock.now()
        result = work()
        self.rest()
        return TimedWork(result, began, self._clock.now())
