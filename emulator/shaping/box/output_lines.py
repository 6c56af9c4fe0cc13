"""JSON lines on the standard output of the box, and the lateness of frames, which they report.

The conductor reads them as the `BoxLine`s of `node/reports.py`; the box itself runs without any
library.
"""

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


BIN = 2e-5
"""Width of a bin of the histogram in seconds: the resolution of the percentiles."""
_BINS = 10_000


class Lateness:
    """Histogram of the lateness of all frames since the last summary, in constant memory."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._counts = [0] * _BINS
        self._longest = 0.0

    def add(self, late: float) -> None:
        """Count a frame by its lateness in seconds."""
        place = int(late / BIN)
        self._counts[place if place < _BINS else -1] += 1
        if late > self._longest:
            self._longest = late

    def summary(self) -> dict[str, Any]:
        """Return number, p50, p99 and maximum of the frames' lateness in seconds, and forget it."""
        frames = sum(self._counts)
        values = {
            "packets": frames,
            "p50": self._percentile(0.5 * frames),
            "p99": self._percentile(0.99 * frames),
            "max": round(self._longest, 6),
        }
        self._clear()
        return values

    def _percentile(self, frames: float) -> float:
        """Return the upper edge of the bin with the last of so many frames, at most the maximum."""
        seen = 0
        for place, count in enumerate(self._counts[:-1]):
            seen += count
            if seen and seen >= frames:
                return round(min((place + 1) * BIN, self._longest), 6)
        return round(self._longest, 6)
