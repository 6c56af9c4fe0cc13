"""JSON lines on the standard output of the box, which never waits for its reader."""

import json
import os
from collections import deque
from typing import Any

MOST_WAITING = 1000
"""Most lines that wait for a slow reader; later lines push out the earliest."""


class OutputLines:
    """Lines written to a descriptor as soon as the pipe behind it has room."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[bytes] = deque(maxlen=MOST_WAITING)
        os.set_blocking(descriptor, False)

    def write(self, line: dict[str, Any]) -> None:
        """Write `line`, after the lines that wait."""
        self._waiting.append(json.dumps(line).encode() + b"\n")
        while self._waiting:
            try:
                # shorter than PIPE_BUF, so a pipe takes the whole line or nothing
                os.write(self._descriptor, self._waiting[0])
            except BlockingIOError:
                return
            except BrokenPipeError:
                self._waiting.clear()
                return
            self._waiting.popleft()
