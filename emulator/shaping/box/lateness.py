"""Lateness of the frames of a second: by how much each left after its due time."""

BIN = 2e-5
"""Width of a bin of the histogram in seconds: the resolution of the percentiles."""
_BINS = 10_000


class Lateness:
    """Histogram of the lateness of all frames since the last summary, in constant memory."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._counts = [0] * _BINS
        self._frames = 0
        self._longest = 0.0

    def add(self, late: list[float]) -> None:
        """Count frames by their lateness in seconds."""
        counts = self._counts
        for seconds in late:
            place = int(seconds / BIN)
            counts[place if place < _BINS else -1] += 1
        self._frames += len(late)
        self._longest = max(self._longest, max(late))

    def summary(self) -> dict[str, float]:
        """Return number, p50, p99 and maximum of the frames' lateness in seconds, and forget it."""
        values = {
            "packets": self._frames,
            "p50": self._percentile(0.5),
            "p99": self._percentile(0.99),
            "max": round(self._longest, 6),
        }
        self._clear()
        return values

    def _percentile(self, share: float) -> float:
        """Return the upper edge of the bin of a percentile, at most the maximum."""
        seen = 0
        for place, count in enumerate(self._counts[:-1]):
            seen += count
            if seen and seen >= share * self._frames:
                return round(min((place + 1) * BIN, self._longest), 6)
        return round(self._longest, 6)
