"""Links as the kernel has to play them in a world that is played slower than real time."""

from dataclasses import replace

from ..units import Rate, Seconds
from ..world.link import Link, Side


def dilated_side(side: Side, dilation: float) -> Side:
    """Return `side` in real time, of which `dilation` seconds pass in an emulated second.

    Rates are divided and times multiplied. Shares of packets, and bytes, stay.
    """
    if dilation == 1:
        return side
    return replace(
        side,
        rate=None if side.rate is None else Rate(side.rate / dilation),
        delay=Seconds(side.delay * dilation),
        jitter=Seconds(side.jitter * dilation),
        setup=Seconds(side.setup * dilation),
    )


def dilated(link: Link, dilation: float) -> Link:
    """Return `link` with both sides in real time, as `dilated_side` does."""
    return Link(dilated_side(link.up, dilation), dilated_side(link.down, dilation))
