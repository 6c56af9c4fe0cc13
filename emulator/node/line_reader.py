"""Whole lines from a pipe that may hand them over in pieces, or several at once."""

import os


class LineReader:
    """What comes in on a file descriptor that others write lines to."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._rest = descriptor, b""

    def read(self) -> list[bytes] | None:
        """The lines that are complete by now; None once the other end has been closed.

        Call it when there is something to read, or it waits for it.
        """
        data = os.read(self._descriptor, 65536)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines
