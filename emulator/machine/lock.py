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
    # named under the shared lock too: under the exclusive one a reader must never find the name of
    # a process that died with the file
    with _taken(path, fcntl.LOCK_SH, fcntl.LOCK_EX):
        yield


@contextmanager
def held_alone(path: Path, message: str) -> Iterator[None]:
    """Hold the lock at `path` as `held` does, but without a wait.

    Raises HostError that begins with `message` if another process holds the lock.
    """
    with _taken(path, fcntl.LOCK_EX | fcntl.LOCK_NB, busy=f"{message} by another process"):
        yield


@contextmanager
def _taken(path: Path, *operations: int, busy: str = "") -> Iterator[None]:
    """Lock the file at `path` by `operations`, the last of which is exclusive, during the block."""
    while True:
        try:
            # no link is followed: a link in a stranger's folder may point at any file
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise HostError(f"cannot write the lock {path}: {error.strerror}") from error
        try:
            for operation in operations:
                _lock(file, operation, path, busy)
                _name(file, path)
            # the holder before removed the file while this process waited: lock a new file
            if not os.fstat(file).st_nlink:
                continue
            try:
                yield
            finally:
                with suppress(OSError):
                    path.unlink()
            return
        finally:
            os.close(file)


def _lock(file: int, operation: int, path: Path, busy: str) -> None:
    try:
        fcntl.flock(file, operation)
    except BlockingIOError:
        raise HostError(busy) from None
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise HostError(f"the file system of {path} has no locks: {error.strerror}") from error


def _name(file: int, path: Path) -> None:
    """Let the content of `file` be the id of this process, and nothing else."""
    text = f"{os.getpid()}\n".encode()
    try:
        os.pwrite(file, text, 0)
        os.ftruncate(file, len(text))
    except OSError as error:
        raise HostError(f"cannot write the lock {path}: {error.strerror}") from error


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
        return int(os.read(file, 32).split()[0])
    finally:
        os.close(file)
    return None
