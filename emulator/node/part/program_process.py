"""The program of a workload as its sidecar sees it: a process in a container that others start."""

import signal
from collections.abc import Callable
from contextlib import suppress
from typing import IO

from ..config import ENDINGS, GOODBYE
from ..reports import ProgramReport


class ProgramProcess:
    """Stands for the process of a part, where the process is another container's.

    It has the methods of a `PartProcess`. Each asks the conductor for a deed of the engine, without
    waiting; `waits_for` is the number of the last request until the conductor has answered it. The
    conductor does the requests of a program in their order.
    """

    def __init__(self, ask: Callable[[ProgramReport], None]) -> None:
        """`ask` sends a request to the conductor, which has started the program already."""
        self._ask = ask
        self._asks = self._life = 0
        self._runs = self._paused = self._leaves = False
        self._ended: tuple[int, str] | None = None
        self._cause = ""
        self._seconds = 0.0
        self._open: set[int] = set()
        self.control = -1
        self.fork: None = None
        self.keeps = False
        """Unused: the files of a container outlive its processes, as a disk does."""

    @property
    def down(self) -> bool:
        """Whether the program does not run, as far as is known."""
        return not self._runs

    @property
    def coming(self) -> bool:
        return False

    @property
    def pid(self) -> int | None:
        """Number of the program's start, which stands for a process id; None while it is down."""
        return self._life if self._runs else None

    @property
    def waits_for(self) -> int | None:
        """Number of the last request that is not answered yet; None without any."""
        return max(self._open, default=None)

    def answered(self, ask: int) -> None:
        """Take that the request with the number `ask` has been done."""
        self._open.discard(ask)

    def boot(self, anew: bool = True) -> IO[bytes] | None:
        """Have the program started; without `anew` the conductor starts it by itself."""
        self._runs, self._paused, self._leaves = True, False, False
        self._ended, self._seconds = None, 0.0
        if anew:
            self._life += 1
            self._want("start")
        return None

    def adopt(self, pid: int) -> None:
        raise AssertionError("no program is forked")

    def disown(self) -> None:
        raise AssertionError("no program is forked")

    def ended(self, life: int, code: int, cause: str) -> None:
        """Take that the program's start with the number `life` has ended."""
        if life == self._life and self._runs:
            self._ended = code, cause

    def used(self, life: int, seconds: float) -> None:
        """Take the processor time of the program's start with the number `life`."""
        if life == self._life:
            self._seconds = max(self._seconds, seconds)

    def processor_seconds(self, pid: int) -> float:
        """Return the processor time of the start with the number `pid`, as far as is known."""
        return self._seconds if pid == self._life else 0.0

    def take_exit(self) -> int | None:
        """Return the exit code of a program that has ended by itself, which counts as down; None
        if it has not."""
        if self._ended is None:
            return None
        (code, self._cause), self._ended = self._ended, None
        self._runs = self._paused = False
        return code

    def memory_cause(self) -> str:
        """Return why the kernel killed the program for want of memory; empty if it did not."""
        return self._cause

    def kill(self) -> None:
        """Have the program killed, unless it is down."""
        if self._runs:
            self._want("kill")
        self._runs = self._paused = self._leaves = False

    def freeze(self) -> None:
        """Do nothing: the program takes no processor time from its sidecar."""

    def signal(self, number: signal.Signals) -> None:
        """Have done to the program what the signal `number` does to a part."""
        if not self._runs:
            return
        if number == signal.SIGSTOP and not self._paused:
            self._paused = True
            self._want("freeze")
        elif number == signal.SIGCONT and self._paused:
            self._paused = False
            self._want("thaw")
        elif number == GOODBYE and not self._leaves:
            self._leaves = True
            self._want("stop", awaited=False)  # the program may take seconds to say goodbye
        elif number in (*ENDINGS.values(), signal.SIGKILL):
            self._runs = False  # the conductor ends the program itself

    def _want(self, do: str, *, awaited: bool = True) -> None:
        self._asks += 1
        if awaited:
            self._open.add(self._asks)
        with suppress(BrokenPipeError):  # the conductor is gone, and the container ends
            self._ask(ProgramReport(do, self._asks, self._life))
