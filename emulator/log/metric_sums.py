"""The metrics that the programs of a workload printed, summed up for the summary of a run."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..world.roles import SERVER
from .records import MetricRecord, Record, TrafficRecord

ACCURACY = "accuracy"
"""Name of the metric that counts as the run's accuracy, and has the scenario's targets."""

MAIN = (SERVER, "driver")
"""Nodes whose metrics speak for the whole run; those of devices speak for themselves."""

MOST = 100
"""Nodes and names of metrics that a summary has; the log has all of them."""

_ROUNDING = 1e-9


@dataclass
class _Metric:
    """The values of a metric of a node so far."""

    last: float
    least: float
    most: float
    count: int = 1

    def take(self, value: float) -> None:
        self.last, self.count = value, self.count + 1
        self.least, self.most = min(self.least, value), max(self.most, value)


class MetricSums:
    """Takes the records of a run in their order; of metrics keeps bounds and last values."""

    def __init__(self, targets: Iterable[float] = ()) -> None:
        """`targets` are accuracies whose costs are reported."""
        self._metrics: dict[str, dict[str, _Metric]] = {}
        self._targets: dict[float, tuple[float, int, int] | None] = dict.fromkeys(sorted(targets))
        self._rx = self._tx = 0

    def take(self, record: Record) -> None:
        match record:
            case TrafficRecord(node=node, rx=rx, tx=tx) if node == SERVER:
                self._rx, self._tx = rx, tx
            case MetricRecord(node=node, values=values, at=at):
                self._take(node, values, at)

    def _take(self, node: str, values: Any, at: float) -> None:
        known = self._metrics.setdefault(node, {}) if self._has_room(self._metrics, node) else {}
        for name, value in values.items():
            if name in known:
                known[name].take(value)
            elif self._has_room(known, name):
                known[name] = _Metric(value, value, value)
        if node in MAIN and ACCURACY in values:
            for target, reached in self._targets.items():
                if reached is None and values[ACCURACY] >= target - _ROUNDING:
                    self._targets[target] = at, self._rx, self._tx

    @staticmethod
    def _has_room(known: dict[str, Any], name: str) -> bool:
        return name in known or len(known) < MOST

    def accuracy(self) -> tuple[float | None, float | None]:
        """Return the last and the best accuracy of the server or the driver; None without any."""
        found = [own[ACCURACY] for node in MAIN if ACCURACY in (own := self._metrics.get(node, {}))]
        return (found[-1].last, found[-1].most) if found else (None, None)

    def targets(self) -> list[dict[str, Any]]:
        """Return the costs of each target as `Costs.plain` does: `bytes` and `pulled` are those
        that had reached and left the server's interface by its last sample."""
        return [
            {
                "accuracy": round(target, 9),
                "updates": None,
                "time": reached and reached[0],
                "bytes": reached and reached[1],
                "pulled": reached and reached[2],
            }
            for target, reached in self._targets.items()
        ]

    def plain(self) -> dict[str, Any]:
        """Return `metrics`: by node and name, the last, the least and the largest value."""
        return {
            node: {
                name: {
                    "last": each.last,
                    "least": each.least,
                    "most": each.most,
                    "count": each.count,
                }
                for name, each in own.items()
            }
            for node, own in self._metrics.items()
        }
