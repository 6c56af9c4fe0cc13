"""The rule by which TCP may fill its packets up to the buckets of the links on its way."""

from collections.abc import Iterable

from ..units import Rate
from ..world.links.link import ETHERNET, Side
from .backend import Backend
from .tc import ANY_SEGMENTS, FEW_SEGMENTS, framed, segments, usual_burst

ROOM_BACK = 1e6
"""Least bits a second of a way back that acknowledgements never fill: Linux sends at most 1,024 a
second for a message, which are 541 kbit/s."""


def filled(up: Side, beyond: Iterable[Side], back: Iterable[Rate], backend: Backend) -> bool:
    """Return whether TCP may fill packets up to `segments`, at whatever pace it sends.

    Where a link cuts packets, packets of 64 KiB would only overflow its queue. A full packet has
    one acknowledgement, so where a rate of the way `back` is so low that acknowledgements hold up
    a sender, full packets would travel too fast.
    """
    if any(rate < ROOM_BACK for rate in back):
        return False
    beyond = tuple(beyond)
    rated = [side for side in (up, *beyond) if side.rate]
    cuts = any(framed(side) or usual_burst(side) < FEW_SEGMENTS * ETHERNET for side in rated)
    number = segments(up, beyond, backend)
    return bool(rated) and number > 1 and (number < ANY_SEGMENTS or not cuts)
