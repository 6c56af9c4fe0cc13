"""Standard output and error that survive the end of their reader, as a run should.

A reader goes away, for example, with `emulate run FILE | head`, or with a terminal that is closed
under `nohup`.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_GONE = (errno.EPIPE, errno.EIO)
"""Error numbers of a write to a pipe without a reader, and to a closed terminal."""


class Enduring:
    """A text stream that discards output after the reader is gone."""

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
        """Redirect the stream to /dev/null after `error`; raise any other error again.

        Without the redirection the stream would try to write its buffer again and again.
        """
        if error.errno not in _GONE:
            raise error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def enduring() -> Iterator[None]:
    """Keep `sys.stdout` and `sys.stderr` writable inside the block, with or without a reader."""
    before = sys.stdout, sys.stderr
    if None in before:  # closed from the beginning: Python and click handle this case
        yield
        return
    sys.stdout, sys.stderr = (Enduring(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = before
