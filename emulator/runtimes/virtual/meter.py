"""Samples of what has crossed each network interface, as containers report them."""

from collections.abc import Sequence

from ...roles import SERVER
from ...runlog import RunLog
from .network import Count, counted
from .node import Node

SAMPLES = 200
"""Devices that are sampled each second; larger fleets less often, or they would fill the log."""


class Meter:
    """Writes `traffic` records, of the devices and of the server."""

    def __init__(self, devices: Sequence[Node], evaluated: Sequence[int], log: RunLog) -> None:
        """`evaluated`: bytes that the evaluator has sent, and was sent."""
        self._devices, self._evaluated, self._log = devices, evaluated, log
        self.interval = max(1.0, len(devices) / SAMPLES)
        """Seconds between two samples."""

    def sample(self, now: float) -> None:
        """Note how things stand `now` seconds into the run."""
        came, left = counted(self._evaluated[0], self._evaluated[1], 0.0)
        for node in self._devices:
            count = _count(node)
            came, left = came + count.tx, left + count.rx
            self._log.write(now, "traffic", node=node.name, rx=count.rx, tx=count.tx)
        self._log.write(now, "traffic", node=SERVER, rx=came, tx=left)


def _count(node: Node) -> Count:
    return node.ways.count(node.number) if node.ways is not None else Count(0, 0)
