"""Reading of files that a user or a stranger names: a pipe or a device could be read for ever."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

_MOST = 1 << 28
"""Largest number of bytes that are read from a pipe."""
_PIPES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Paths of the pipes that a shell makes, as for `emulate check <(generate)`."""


def read_plain(path: Path) -> bytes:
    """Return the content of the file at `path`, or of a pipe that the shell made.

    Raises OSError for any other pipe, a socket or a device, without waiting for a writer.
    """
    if str(path).startswith(_PIPES):
        with path.open("rb") as pipe:
            content = pipe.read(_MOST + 1)
        if len(content) > _MOST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return content
    with open_plain(path) as opened:
        return opened.read()


def open_plain(path: Path) -> BufferedReader:
    """Open the file at `path` for reading bytes, without waiting for a pipe's writer.

    Raises OSError for a pipe, a socket, a device or a folder.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(file).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(file, "rb")
    os.close(file)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is a pipe, socket or device, and no file")
