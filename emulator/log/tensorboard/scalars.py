"""Scalars of a run for TensorBoard: loss, accuracy, staleness, updates and bytes over steps."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from ..records import EvaluationRecord, Record, UpdateRecord
from ..targets import TravelledBytes

_EACH = 1000
"""Updates that have a point each. Later points are means over a thousandth of the updates so far,
so that the file of a million updates stays small."""


class ScalarPoint(NamedTuple):
    """Values of several tags at one step."""

    at: float
    """Emulated seconds."""
    step: int
    values: dict[str, float]


class Scalars:
    """Translator of a run's records into points.

    `train/loss` (on mini-batches), `staleness`, `push_bytes`, `pull_bytes` and `both_bytes` (sums
    so far; the last with activations) have the number of updates as step, as have `test/accuracy`,
    `test/error` and `test/loss`. `updates` has the emulated second. A value that is not finite has
    no point.
    """

    def __init__(self) -> None:
        self._losses: list[float] = []
        self._staleness: list[float] = []
        self._pushed = 0
        self._travelled = TravelledBytes()
        self._last, self._second = 0, -1

    def take(self, record: Record) -> Iterator[ScalarPoint]:
        """Yield the points that are complete with the next `record` of the log."""
        self._travelled.take(record)
        match record:
            case EvaluationRecord():
                known = {"test/accuracy": record.accuracy, "test/loss": record.loss}
                known["test/error"] = record.error
                yield from _point(record.at, record.updates, known)
            case UpdateRecord():
                yield from self._update(record)

    def _update(self, record: UpdateRecord) -> Iterator[ScalarPoint]:
        self._pushed += record.values + record.indices + record.headers + record.framing
        self._staleness.append(record.staleness)
        if record.loss is not None and math.isfinite(record.loss):
            self._losses.append(record.loss)
        if record.updates - self._last >= max(1, record.updates // _EACH):
            self._last = record.updates
            means = {"train/loss": _mean(self._losses), "staleness": _mean(self._staleness)}
            pulled, crossed = self._travelled.pulled, self._travelled.crossed
            sums = {"push_bytes": self._pushed, "pull_bytes": pulled}
            both = {"both_bytes": self._pushed + pulled + crossed}
            yield from _point(record.at, record.updates, {**means, **sums, **both})
            self._losses.clear()
            self._staleness.clear()
        if (second := max(0, int(record.at))) > self._second:
            self._second = second
            yield ScalarPoint(record.at, second, {"updates": record.updates})


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _point(at: float, step: int, values: dict[str, float | None]) -> Iterator[ScalarPoint]:
    """Yield the point of the finite `values`, if there are any."""
    known = {tag: x for tag, x in values.items() if x is not None and math.isfinite(x)}
    if known:
        yield ScalarPoint(at, step, known)
