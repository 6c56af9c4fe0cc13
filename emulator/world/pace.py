"""The pace of a process in a world that is played slower than real time: its core is slower, too.

A CPU quota does not make a core slower. It is a budget for a period, and work that fits into the
budget is done at the full speed of the host's core. So a process rests after its work.
"""

import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from .emulated_clock import EmulatedClock

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
