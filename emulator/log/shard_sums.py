"""Sums over the records of a run whose server has shards: bytes of each, and the skew of pushes."""

from dataclasses import dataclass, field
from typing import Any

from ..world.roles import SHARD
from .records import Record, TrafficRecord, UpdateRecord


@dataclass
class ShardSums:
    """Sums over the records taken so far; `plain` has none without shards."""

    traffic: dict[str, TrafficRecord] = field(default_factory=dict[str, TrafficRecord])
    """The last record of each shard, whose counters run from the start."""
    skewed: int = 0
    """Updates with a skew; the sum and the largest of their skews stand below, in seconds."""
    skew: float = 0.0
    most: float = 0.0

    def take(self, record: Record) -> None:
        """Count an update, or the traffic of a shard; other records count nothing."""
        match record:
            case UpdateRecord(skew=float(skew)):
                self.skewed += 1
                self.skew += skew
                self.most = max(self.most, skew)
            case TrafficRecord(node=node) if node.startswith(SHARD):
                self.traffic[node] = record

    def plain(self) -> dict[str, Any]:
        """Return the entry `shards` of the summary: lists have an item for each shard."""
        if not self.traffic:
            return {}
        mean = self.skew / self.skewed if self.skewed else None
        return {
            "shards": {
                "rx_bytes": [record.rx for record in self.traffic.values()],
                "tx_bytes": [record.tx for record in self.traffic.values()],
                "skew_mean_s": None if mean is None else round(mean, 6),
                "skew_max_s": self.most if self.skewed else None,
            }
        }
