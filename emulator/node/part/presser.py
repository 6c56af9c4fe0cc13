"""Takes memory in a container, as another program on the device would.

Taking memory and giving it back costs processor time, which is not the device's. So the device's
part stands still meanwhile, and the conductor lifts the CPU quota of the container.
"""

import select
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from ...world.emulated_clock import EmulatedClock
from ..orders import QuotaAnswer
from ..reports import QuotaReport, say

HOLDER = Path(__file__).with_name("held_memory.py")
"""The program of the process that holds the memory."""

SCORE = Path("/proc/self/oom_score_adj")
"""The kernel's preference for this process when it has to kill one for want of memory."""

FIRST = 1000
"""Score of a process that is killed before all others of its container."""

LONGEST_STEP = 10.0
"""Emulated seconds after which the next step is done without the answer or the memory."""

_NUMBERS = count(1)


class Presser:
    """The process that holds the memory from `take` to `release`, or until its parent ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted = (0, 0)

    def take(self, size: int, user: int) -> None:
        """Start the process, as the unprivileged `user`: it takes and holds `size` bytes."""
        self._wanted = (size, user)
        self._process = subprocess.Popen(
            # isolated and without `site`: it starts in a tenth of the processor time
            [sys.executable, "-I", "-S", str(HOLDER), str(size)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            user=user,
            group=user,
            extra_groups=[],
        )

    @property
    def runs(self) -> bool:
        """Whether the process was started, and not ended by `release`."""
        return self._process is not None

    def held(self) -> bool:
        """Return whether the process has said that it holds the memory; call it until then."""
        out = self._process.stdout if self._process is not None else None
        if out is None or not select.select([out], [], [], 0)[0]:
            return False
        return bool(out.readline())  # else the kernel has killed the process

    def keep(self) -> None:
        """Start the process anew if the kernel has killed it, so that the pressure holds.

        The kernel may kill this process as well in the moment in which the worker that it has
        killed is still giving its memory back.
        """
        if self._process is not None and self._process.poll() is not None:
            self.release()
            self.take(*self._wanted)

    def release(self) -> None:
        """End the process; the kernel gets the memory back."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                end.close()
        self._process = None


class MemoryChange:
    """A change of the held memory: the quota is lifted, then the change made, the quota put back.

    Each step waits for the one before, but no longer than `LONGEST_STEP`. The part stands still
    from the begin until the change is `over`.
    """

    def __init__(
        self,
        make: Callable[[], None],
        made: Callable[[], bool],
        clock: EmulatedClock,
        *,
        last: bool = False,
    ) -> None:
        """Ask for the lifted quota; then `make` begins the change, and `made` tells its end.

        `last`: whether a change that is cut short is made all the same.
        """
        self._make, self._made, self._clock, self._last = make, made, clock, last
        self._number = next(_NUMBERS)
        self.report: Callable[[], None] = lambda: None
        """Called once, when the change is made: it puts the verb on record."""
        self.over = False
        """Whether the quota in force is back, so that the part may go on."""
        self._making = self._reported = False
        self._asked, self._answered, self._until = True, False, 0.0
        self._ask(lifted=True)

    def answer(self, order: QuotaAnswer) -> None:
        """Take the conductor's answer; one to an earlier change is dropped."""
        if order.press == self._number and order.lifted == self._asked:
            self._answered = True

    def go_on(self) -> None:
        """Do the steps that are due."""
        late = self._clock.now() >= self._until
        if not self._making and (self._answered or late):
            self._making, late = True, False
            self._until = self._clock.now() + LONGEST_STEP
            self._make()
        if self._reported:
            self.over = self._answered or late
        elif self._making and (late or self._made()):
            self._report()

    def cut_short(self) -> None:
        """Put the verb on record now, unless it is, as the next change begins."""
        if self._reported:
            return
        if self._last and not self._making:
            self._make()
        self._making = True
        self._report()

    def _report(self) -> None:
        self._reported = True
        self.report()
        self._ask(lifted=False)

    def _ask(self, *, lifted: bool) -> None:
        """Ask the conductor to lift the device's CPU quota, or else to put it back."""
        self._asked, self._answered = lifted, False
        self._until = self._clock.now() + LONGEST_STEP
        say(QuotaReport(lifted, self._number))


def die_first() -> None:
    """Let the kernel kill this process first when the memory of its container runs out.

    A process may always raise its own score.
    """
    SCORE.write_text(str(FIRST), encoding="utf-8")
