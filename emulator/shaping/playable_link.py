"""Links as kernel and box can play them: in real time, and within bounds of rates and times.

In a world that is played slower than real time, rates are lower and times longer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from ..units import Rate, Seconds
from ..world.links.link import Link, Side

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


@dataclass(frozen=True)
class DilatedSide(Side):
    """A direction with a rate, in real time."""

    dilation: float = field(default=1.0, kw_only=True)
    """Real seconds in an emulated second. Queue and bucket hold the bytes of the undilated rate: a
    packet waits as many emulated seconds, and is as long."""

    @property
    def emulated_rate(self) -> Rate:
        """The rate in bits per emulated second."""
        assert self.rate is not None
        return Rate(self.rate * self.dilation)


def slowed(side: Side, dilation: float) -> Side:
    """Return `side`, which is in real time already, with queue and bucket of the undilated rate."""
    if dilation == 1 or side.rate is None:
        return side
    values: dict[str, Any] = {each.name: getattr(side, each.name) for each in fields(side)}
    return DilatedSide(**values, dilation=dilation)


def dilation_of(link: Link) -> float:
    """Return the dilation of a link in real time; 1 if no side has a rate."""
    sides = (link.up, link.down)
    return max(side.dilation if isinstance(side, DilatedSide) else 1.0 for side in sides)


def dilated_side(side: Side, dilation: float) -> Side:
    """Return `side` in real time, of which `dilation` seconds pass in an emulated second.

    Rates are divided, but not below the lowest that can be played, and times multiplied. Shares of
    packets, and bytes, stay.
    """
    if dilation == 1 and (side.rate is None or side.rate >= SLOWEST):
        return side
    values: dict[str, Any] = {each.name: getattr(side, each.name) for each in fields(side)}
    for name in ("delay", "jitter", "setup"):
        values[name] = Seconds(values[name] * dilation)
    if side.rate is not None:
        values["rate"] = playable(side.rate / dilation)
    return slowed(Side(**values), dilation)


def dilated(link: Link, dilation: float) -> Link:
    """Return `link` with both sides in real time, as `dilated_side` does."""
    return Link(dilated_side(link.up, dilation), dilated_side(link.down, dilation))
