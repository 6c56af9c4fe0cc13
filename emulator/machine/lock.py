"""Lock file of a living process; the system releases the lock when the process ends, in any way.

The lock belongs to the open file, not to its name, and so survives a move of the file.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import HostError


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock at `path` during the block; the file names this process, and is removed at the
    end.

    Raises HostError if the file cannot be written, or if its file system has no locks.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise HostError(f"cannot write the lock {path}: {error.strerror}") from error
    try:
        try:  # before the lock, so that a held lock has a pid
            os.write(file, str(os.getpid()).encode())
        except OSError as error:
            raise HostError(f"cannot write the lock {path}: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise HostError(f"the file system of {path} has no locks: {error.strerror}") from error
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(file)


@contextmanager
def held_alone(path: Path, message: str) -> Iterator[None]:
    """Hold the lock at `path` as `held` does, but without a wait.

    Raises HostError that begins with `message` if another process holds the lock.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise HostError(f"cannot write the lock {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HostError(f"{message} by another process") from None
        except OSError as error:
            raise HostError(f"the file system of {path} has no locks: {error.strerror}") from error
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()
    finally:
        os.close(file)


def holder(path: Path) -> int | None:
    """Return the process id of the holder of `path`, or None without a holder or a file.

    Raises OSError if the file may not be read.
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
