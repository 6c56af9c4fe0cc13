"""The process of a container's part (worker, evaluator or server), boot after boot."""

import os
import signal
import subprocess
import sys
from typing import IO

from ..config import KEPT
from ..control_group import MemoryCounts, memory_cause

CONTROL = "EMULATE_CONTROL"
"""Environment variable with the file descriptor to which a part writes the faults that it draws,
and the records of its scheduler."""


class PartProcess:
    """A child process under a user without any capability."""

    def __init__(self, user: int, incarnation: int) -> None:
        """`incarnation` counts the boots of the part before the present one."""
        self._user, self._incarnation = user, incarnation
        self._child: subprocess.Popen[bytes] | None = None
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
    def pid(self) -> int | None:
        """Process id of the part, or None while the part is down."""
        return None if self._child is None else self._child.pid

    def boot(self, anew: bool = True) -> IO[bytes] | None:
        """Start the part; return the part's standard input. `anew` begins the next incarnation."""
        self._incarnation += anew
        self._memory_counts = MemoryCounts.read()
        self._child = subprocess.Popen(
            [
                *(sys.executable, "-m", "emulator.node.part.role", str(self._incarnation)),
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
        )
        return self._child.stdin

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

    def signal(self, number: signal.Signals) -> None:
        """Send the signal `number` to the part, unless it is down."""
        if self._child is not None:
            self._child.send_signal(number)
