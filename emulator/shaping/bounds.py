"""Bounds of the rates and times of a link that the kernel and the box can play."""

from collections.abc import Iterator

from ..units import Rate, Seconds
from ..world.links.link import Side

SLOWEST = 100.0
"""Lowest rate in bits per second. The kernel keeps the time of a burst in 32 bits of 64 ns, 275 s,
and a frame takes longer than that below 45 bit/s."""
FASTEST = 100e9
"""Upper limit of a rate, exclusive, in bits per second: tbf needs a peak rate above the rate."""
LONGEST_TIME = 3600.0
"""Longest time of a link in seconds."""


def playable(rate: float) -> Rate:
    """Return `rate`, or the lowest rate that can be played if `rate` is lower.

    An outage of a trace comes as low as that by a fault's factor, or by a dilation.
    """
    return Rate(max(SLOWEST, rate))


def out_of_bounds(side: Side, dilation: float = 1.0, *, lowest: float = SLOWEST) -> Iterator[str]:
    """Yield a sentence for each key of `side`, played `dilation` times slower, beyond the bounds.

    A sentence begins with the key. A rate below `lowest` is out of bounds.
    """
    if side.rate is not None and not lowest <= side.rate / dilation < FASTEST:
        slower = f" divided by the dilation {dilation:g}" if dilation != 1 else ""
        yield (
            f"rate: {side.rate}{slower} is not from {Rate(SLOWEST)} to below {Rate(FASTEST)}, "
            "which the kernel can shape; without a rate a link is unlimited"
        )
    for key in ("delay", "jitter", "setup"):
        if (time := getattr(side, key)) * dilation > LONGEST_TIME:
            slower = f" times the dilation {dilation:g}" if dilation != 1 else ""
            yield f"{key}: {time}{slower} is above {Seconds(LONGEST_TIME)}, the longest of a link"
