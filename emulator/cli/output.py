"""Standard output and error that may go away during a run, which goes on to its end in silence.

As with `emulate run FILE | head`, or when a terminal is closed under `nohup`.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_GONE = (errno.EPIPE, errno.EIO)
"""What the system says of a pipe that nobody reads any more, and of a terminal that was closed."""


class Enduring:
    """A text stream that discards what nobody can read any more."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            self._discard(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._discard(error)

    def _discard(self, error: OSError) -> None:
        """Let the stream end nowhere: it would try again and again to be rid of what it holds."""
        if error.errno not in _GONE:
            raise error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def enduring() -> Iterator[None]:
    """Let `sys.stdout` and `sys.stderr` outlive those who read them, until the end of the block."""
    before = sys.stdout, sys.stderr
    if None in before:  # closed from the beginning: Python and click know of that
        yield
        return
    sys.stdout, sys.stderr = (Enduring(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = before
