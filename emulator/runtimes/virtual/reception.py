"""What it costs a device's processor to receive a model, beside the wait for it.

A slow link hands over a few frames at a time, and a process wakes up for each handful. That
takes from a CPU quota, so the step that follows may find little of it left.
"""

from typing import NamedTuple

from ...link import FRAME, Side
from ...shaping.tc import ETHERNET, burst

WAKE = 100e-6
"""Seconds of a core for each burst that comes in, and `EACH` for each frame of it.

Fitted to what containers' cgroups counted (docs/calibration.md): 7, 13 and 53 ms for a model of
1.7 MB that came at 200, 50 and 8 mbit. Where nothing shapes the link it is a part of the
calibrated step."""

EACH = 2e-6


class Reception(NamedTuple):
    """Of each byte of a message, on an idle link."""

    work: float
    """Seconds of a whole core."""
    over: float
    """Seconds over which that is spread."""


def reception(side: Side) -> Reception | None:
    """On this side of a link; None where it is not rated."""
    if side.rate is None:
        return None
    frames = FRAME / ETHERNET
    work = frames * (EACH + WAKE * ETHERNET / burst(side.rate))
    return Reception(work, 8 * FRAME / side.rate)
