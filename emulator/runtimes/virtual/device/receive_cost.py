"""The processor time that receiving a model costs a device.

A link delivers a few frames at a time, and a process wakes up for each handful of them. The work
comes out of a CPU quota, so the step that follows may find little of its budget left.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ....shaping.backend import Backend
from ....shaping.tc import SUPERPACKET, burst, framed, segments
from ....world.links.link import ETHERNET, FRAME, Side

WAKE = 33e-6
"""Seconds of a core for each packet that comes in, plus `EACH` for each frame in the packet.

Fitted to the CPU time that the cgroups of containers counted (docs/calibration.md). On a link that
nothing shapes, the calibrated step includes this work."""

EACH = 2.5e-6


class Reception(NamedTuple):
    """The cost of a byte of a message, on an idle link."""

    work: float
    """Seconds of a whole core."""
    over: float
    """Seconds during which the byte comes in, over which `work` is spread."""


def packet(sender: Side, receivers: Iterable[Side]) -> int:
    """Return the size in bytes of packets from `sender` to `receivers`."""
    return min(SUPERPACKET, ETHERNET * segments(sender, receivers, Backend(rate="tbf")))


def reception(side: Side, packet: int) -> Reception | None:
    """Return the cost of receiving packets of `packet` bytes on `side`; None without a rate."""
    if side.rate is None:
        return None
    # tbf cuts a packet longer than its burst, and on a side that is lossy or has an overhead every
    # packet, into single frames: then each frame wakes the process
    whole = packet <= burst(side.rate) and not framed(side)
    frames = FRAME / ETHERNET  # for each byte of a message
    work = frames * (EACH + WAKE * (ETHERNET / packet if whole else 1))
    return Reception(work, 8 * FRAME / side.net_rate)
