"""A file that a living process holds: the system lets go of it when the process ends, in any way.

The lock belongs to the open file, not to its name: it survives that the file is moved.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import HostError


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold `path`, which then names this process; remove the file at the end of the block.

    Raises HostError where the file cannot be written, or its file system has no locks.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise HostError(f"cannot write the lock {path}: {error.strerror}") from error
    try:
        os.write(file, str(os.getpid()).encode())  # before the lock: who sees that can read this
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise HostError(f"the file system of {path} has no locks: {error.strerror}") from error
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(file)


def holder(path: Path) -> int | None:
    """Return the process that holds `path`; None if none does, or no such file is there.

    Raises OSError where the file may not be read.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(os.read(file, 32))
    finally:
        os.close(file)
    return None
