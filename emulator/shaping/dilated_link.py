"""Links as the kernel has to play them in a world that is played slower than real time."""

from dataclasses import dataclass, field, fields
from typing import Any

from ..units import Rate, Seconds
from ..world.links.link import Link, Side
from .bounds import SLOWEST, playable


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
