"""Samples of the byte counters of every network interface, as containers report them."""

from collections.abc import Iterable, Mapping

from ...log.records import TrafficRecord
from ...log.writing import RunLog
from ...world.roles import SERVER
from .device.virtual_device import VirtualDevice

SAMPLES = 200
"""Nodes sampled each second. Larger fleets are sampled less often, or they would fill the log."""


class TrafficMeter:
    """A Chore that writes `traffic` records of the devices, the evaluator, the bottlenecks and the
    server."""

    def __init__(
        self,
        nodes: Iterable[VirtualDevice],
        log: RunLog,
        zero: float,
        behind: Mapping[str, str],
    ) -> None:
        """Sample `nodes` from the driver's time `zero` on, at which the run began.

        `behind` names the bottleneck of each device that is behind one.
        """
        self._nodes, self._log, self._zero, self._behind = tuple(nodes), log, zero, behind
        self._interval = max(1.0, len(self._nodes) / SAMPLES)  # seconds between two samples
        self._due = zero

    def deadline(self) -> float:
        return self._due

    def tick(self, now: float) -> None:
        """Write a record per interface, as of `now` on the driver's clock."""
        self._sample(now - self._zero)
        self._due = now + self._interval

    def _sample(self, now: float) -> None:
        received = sent = 0
        # a bottleneck carries the bytes of its members
        shared = {name: [0, 0] for name in self._behind.values()}
        for node in self._nodes:
            count = node.links.count(node.number)
            # all that leaves a node arrives at the server, and nothing else does
            received, sent = received + count.tx, sent + count.rx
            self._log.write(TrafficRecord(now, node.name, rx=count.rx, tx=count.tx))
            if node.name in self._behind:
                sums = shared[self._behind[node.name]]
                sums[0] += count.rx
                sums[1] += count.tx
        for name, (down, up) in shared.items():
            self._log.write(TrafficRecord(now, name, rx=down, tx=up))
        self._log.write(TrafficRecord(now, SERVER, rx=received, tx=sent))
