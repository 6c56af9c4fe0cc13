"""Samples of what has crossed each network interface, as containers report them."""

from collections.abc import Sequence

from ...log.writing import RunLog
from ...world.roles import SERVER
from .device.virtual_device import VirtualDevice
from .links.network import InterfaceBytes, counted

SAMPLES = 200
"""Devices that are sampled each second; larger fleets less often, or they would fill the log."""


class TrafficMeter:
    """Writes `traffic` records, of the devices, of the evaluator and of the server."""

    def __init__(
        self,
        nodes: Sequence[VirtualDevice],
        evaluated: Sequence[int],
        acknowledged: float,
        log: RunLog,
    ) -> None:
        """`evaluated`: bytes of messages that the evaluator has sent, and was sent.

        `acknowledged`: bytes that come back for each of them.
        """
        self._nodes, self._evaluated, self._log = nodes, evaluated, log
        self._acknowledged = acknowledged
        self.interval = max(1.0, len(nodes) / SAMPLES)
        """Seconds between two samples."""

    def sample(self, now: float) -> None:
        """Note how things stand `now` seconds into the run."""
        came = left = 0
        for node in self._nodes:
            count = self._count(node)
            # what leaves a node comes to the server, and nothing else does
            came, left = came + count.tx, left + count.rx
            self._log.write(now, "traffic", node=node.name, rx=count.rx, tx=count.tx)
        self._log.write(now, "traffic", node=SERVER, rx=came, tx=left)

    def _count(self, node: VirtualDevice) -> InterfaceBytes:
        if node.ways is not None:
            return node.ways.count(node.number)
        sent, heard = self._evaluated  # the evaluator is on no link that would count for it
        return counted(heard, sent, self._acknowledged)
