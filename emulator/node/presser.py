"""A process that takes memory in a container, as another program on the device would."""

import subprocess
import sys
from pathlib import Path

SCORE = Path("/proc/self/oom_score_adj")
"""The kernel's preference for this process when it has to kill one for want of memory."""

FIRST = 1000
"""Score of a process that is killed before all others of its container."""


class Presser:
    """The process that holds the memory from `take` to `release`, or until its parent ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted = (0, 0)

    def take(self, size: int, user: int) -> None:
        """Start the process, as the unprivileged `user`: it takes and touches `size` bytes."""
        self._wanted = (size, user)
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(size)],
            stdin=subprocess.PIPE,
            user=user,
            group=user,
            extra_groups=[],
        )

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
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None


def die_first() -> None:
    """Let the kernel kill this process first when the memory of its container runs out.

    A process may always raise its own score.
    """
    SCORE.write_text(str(FIRST), encoding="utf-8")


def main() -> None:
    """Take the memory, and hold it until standard input ends."""
    held = bytearray(b"\1") * int(sys.argv[1])  # written to, so that each page is real
    sys.stdin.buffer.read()
    del held


if __name__ == "__main__":
    main()
