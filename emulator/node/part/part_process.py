"""The process of a container's part (worker, evaluator or server), boot after boot."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TypeAlias

from ..config import KEPT
from ..control_group import MemoryCounts, memory_cause

PART = "emulator.node.part.role"
"""Module of a part."""

CONTROL = "EMULATE_CONTROL"
"""Environment variable with the file descriptor to which a part writes the faults that it draws,
and the records of its scheduler."""


class Orphan:
    """A process that was born elsewhere, and that the kernel made this process' child.

    It does what is used of a `subprocess.Popen`.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while the process runs."""
        if self.returncode is None:
            self._take(os.WNOHANG)
        return self.returncode

    def wait(self) -> int | None:
        """Wait for the end; return the exit code."""
        if self.returncode is None:
            self._take(0)
        return self.returncode

    def _take(self, options: int) -> None:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:  # it is no child, and nobody tells how it ends
            pid, status = self.pid, signal.SIGKILL
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)

    def send_signal(self, number: int) -> None:
        """Send the signal `number` unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Fork: TypeAlias = Callable[[int, int, int], None]
"""Asks for a fork of the part: descriptors of its standard input and of `CONTROL`, incarnation."""


class PartProcess:
    """A child process under a user without any capability."""

    def __init__(self, user: int, incarnation: int) -> None:
        """`incarnation` counts the boots of the part before the present one."""
        self._user, self._incarnation = user, incarnation
        self._child: subprocess.Popen[bytes] | Orphan | None = None
        self._stdin = -1  # of a part that is being forked
        self.fork: Fork | None = None
        """Has the first boot forked elsewhere; `adopt` or `boot` follows. None: it is executed."""
        self._memory_counts = MemoryCounts.read()
        self.control = -1
        """File descriptor that the part inherits as `CONTROL`; set it before the first boot."""
        self.keeps = False
        """Whether the state of the last incarnation is kept for the next one."""

    @property
    def down(self) -> bool:
        """Whether the part has been killed, or its end has been noticed."""
        return self._child is None

    @property
    def coming(self) -> bool:
        """Whether the part is being forked elsewhere."""
        return self._stdin >= 0

    @property
    def pid(self) -> int | None:
        """Process id of the part, or None while the part is down."""
        return None if self._child is None else self._child.pid

    def boot(self, anew: bool = True) -> IO[bytes] | None:
        """Start the part; return the part's standard input. `anew` begins the next incarnation."""
        self._incarnation += anew
        self._memory_counts = MemoryCounts.read()
        if self.fork is not None:
            return self._have_it_forked(self.fork)
        child = self._child = subprocess.Popen(
            [
                *(sys.executable, "-m", PART, str(self._incarnation)),
                *([KEPT] if self.keeps else []),
            ],
            stdin=subprocess.PIPE,
            bufsize=0,
            stdout=sys.stderr.fileno(),
            user=self._user,
            group=self._user,
            extra_groups=[],
            pass_fds=[self.control],
            env={**os.environ, CONTROL: str(self.control)},
            start_new_session=True,  # as a forked one, which is in no session of this container
        )
        return child.stdin

    def _have_it_forked(self, fork: Fork) -> IO[bytes]:
        self.fork = None  # later boots are executed
        self._stdin, written = os.pipe()
        fork(self._stdin, self.control, self._incarnation)
        return os.fdopen(written, "wb", buffering=0)

    def adopt(self, pid: int) -> None:
        """Take that the forked part is the process `pid`."""
        os.close(self._stdin)
        self._stdin, self._child = -1, Orphan(pid)

    def disown(self) -> None:
        """Take that the part could not be forked."""
        os.close(self._stdin)
        self._stdin = -1

    def take_exit(self) -> int | None:
        """Return the exit code of a part that has ended by itself, and regard the part as down;
        else None."""
        if self._child is None or self._child.poll() is None:
            return None
        code, self._child = self._child.returncode, None
        return code

    def memory_cause(self) -> str:
        """Return which memory limit the kernel enforced since the boot, or an empty string."""
        return memory_cause(self._memory_counts, MemoryCounts.read())

    def kill(self) -> None:
        """Kill the part and wait for the end, unless the part is down."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    waits_for: int | None = None
    """None: whatever is done to the part is done at once."""

    def freeze(self) -> None:
        """Let the part stand still until SIGCONT."""
        self.signal(signal.SIGSTOP)

    def signal(self, number: signal.Signals) -> None:
        """Send the signal `number` to the part, unless it is down."""
        if self._child is not None:
            self._child.send_signal(number)
