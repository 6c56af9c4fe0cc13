"""What it costs a device's processor to receive a model, beside the wait for it.

A link hands over a few frames at a time, and a process wakes up for each handful. That takes from a
CPU quota, so the step that follows may find little of it left.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ....shaping.backend import Backend
from ....shaping.tc import ETHERNET, SUPERPACKET, burst, segments
from ....world.link import FRAME, Side

WAKE = 33e-6
"""Seconds of a core for each packet that comes in, and `EACH` for each frame of it.

Fitted to what containers' cgroups counted (docs/calibration.md). Where nothing shapes the link it
is a part of the calibrated step."""

EACH = 2.5e-6


class Reception(NamedTuple):
    """Of each byte of a message, on an idle link."""

    work: float
    """Seconds of a whole core."""
    over: float
    """Seconds over which that is spread."""


def packet(sender: Side, receivers: Iterable[Side]) -> int:
    """Bytes of the packets that who is on `sender` sends to all of `receivers`."""
    return min(SUPERPACKET, ETHERNET * segments(sender, receivers, Backend(rate="tbf")))


def reception(side: Side, packet: int) -> Reception | None:
    """On this side of a link, when such packets come; None where it is not rated."""
    if side.rate is None:
        return None
    whole = packet <= burst(side.rate) and not side.loss
    frames = FRAME / ETHERNET
    work = frames * (EACH + WAKE * (ETHERNET / packet if whole else 1))
    return Reception(work, 8 * FRAME / side.rate)
