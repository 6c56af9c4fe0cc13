"""Statistics of a link trace, weighted by the seconds for which its samples hold."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .link_trace import LinkTrace, Sample


@dataclass(frozen=True)
class Distribution:
    """Mean and percentiles of a value over time."""

    mean: float
    median: float
    p5: float
    p95: float
    least: float
    most: float


@dataclass(frozen=True)
class TraceStatistics:
    """Statistics of a trace. A distribution is None if no sample has the value."""

    duration: float
    """Seconds."""
    samples: int
    rate: Distribution | None
    """Bits per second."""
    outage: float
    """Share of the time at a rate of zero."""
    delay: Distribution | None
    """One-way, in seconds."""
    loss: Distribution | None
    """Shares of packets."""

    def plain(self) -> dict[str, Any]:
        """Return the statistics as JSON types."""
        return asdict(self)


def statistics(trace: LinkTrace) -> TraceStatistics:
    """Return the statistics of `trace`."""
    spans = trace.spans()
    silent = math.fsum(lasts for sample, lasts in spans if sample.rate == 0)
    return TraceStatistics(
        trace.end,
        len(trace.samples),
        _distribution(spans, lambda sample: sample.rate),
        silent / trace.end,
        _distribution(spans, lambda sample: sample.delay),
        _distribution(spans, lambda sample: sample.loss),
    )


def _distribution(
    spans: Sequence[tuple[Sample, float]], value: Callable[[Sample], float | None]
) -> Distribution | None:
    known = sorted(
        (found, lasts) for sample, lasts in spans if (found := value(sample)) is not None
    )
    if not known:
        return None
    whole = math.fsum(lasts for _, lasts in known)

    def percentile(share: float) -> float:
        """Return the least value below or at which the link is for `share` of the time."""
        passed = 0.0
        for found, lasts in known:
            passed += lasts
            if passed >= share * whole * (1 - 1e-12):
                return found
        return known[-1][0]

    mean = math.fsum(found * lasts for found, lasts in known) / whole
    median, p5, p95 = (percentile(share) for share in (0.5, 0.05, 0.95))
    return Distribution(mean, median, p5, p95, known[0][0], known[-1][0])
