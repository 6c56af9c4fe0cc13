"""Samples of the byte counters of every network interface, as containers report them."""

from collections.abc import Sequence

from ...log.writing import RunLog
from ...world.roles import SERVER
from .device.virtual_device import VirtualDevice
from .links.network import InterfaceBytes, counted

SAMPLES = 200
"""Devices that are sampled each second. A larger fleet is sampled less often, or its samples would
fill the log."""


class TrafficMeter:
    """A Chore that writes `traffic` records of the devices, of the evaluator and of the server."""

    def __init__(
        self,
        nodes: Sequence[VirtualDevice],
        evaluated: Sequence[int],
        acknowledged: float,
        log: RunLog,
        zero: float,
    ) -> None:
        """Count for `nodes`, from the driver's time `zero`, at which the run began.

        `evaluated`: bytes of messages that the evaluator has sent, and has been sent.
        `acknowledged`: bytes of acknowledgements for each of these bytes.
        """
        self._nodes, self._evaluated, self._log = nodes, evaluated, log
        self._acknowledged, self._zero = acknowledged, zero
        self._interval = max(1.0, len(nodes) / SAMPLES)
        """Seconds between two samples."""
        self._due = zero

    def deadline(self) -> float:
        return self._due

    def tick(self, now: float) -> None:
        """Write one sample of all nodes, as of `now` on the driver's clock."""
        self._sample(now - self._zero)
        self._due = now + self._interval

    def _sample(self, now: float) -> None:
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
