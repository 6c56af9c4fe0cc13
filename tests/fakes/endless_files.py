"""Files that never end: a pipe without a writer, and a device of zeros."""

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MAKERS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "zeros": lambda path: path.symlink_to("/dev/zero"),
}


@contextmanager
def limited(seconds: float = 30) -> Iterator[None]:
    """Raise TimeoutError in a block that waits for a writer, and MemoryError where it reads on."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, _late)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 29), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)


def _late(*_: object) -> None:
    raise TimeoutError("the command waits for a writer")
