"""Whole lines from a pipe, which delivers pieces of lines and several lines at once."""

import os


class LineReader:
    """Reads the lines that another process writes to a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._rest = descriptor, b""

    def read(self) -> list[bytes] | None:
        """Return the complete lines; None once the other end has been closed.

        Block while the pipe is empty: call it after `select` has found data.
        """
        data = os.read(self._descriptor, 65536)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines
