"""Lateness of the frames of a second: by how much each left after its due time."""

from typing import Any

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
