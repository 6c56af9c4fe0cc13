"""Times of messages over true netem, and of the same messages over the box on this kernel."""

from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links.link import Link, Side

from .box import PacketBox
from .lab import lab

TRANSFERS = {
    (100_000, 50e6, 0.05): 0.2575,
    (1_000_000, 50e6, 0.05): 0.6629,
    (10_000_000, 50e6, 0.05): 2.1718,
    (100_000, 8e6, 0.04): 0.2560,
    (1_000_000, 8e6, 0.04): 1.2166,
    (10_000_000, 8e6, 0.04): 10.6268,
}
"""Seconds that a message took over true netem (QEMU, Linux 6.1) on a new connection; by size, rate
and delay one way."""


def transfer(box: PacketBox, backend: Backend, size: int, rate: float, delay: float) -> float:
    """Return the seconds that a message up takes behind the box, on a new connection."""
    side = Side(Rate(rate), Seconds(delay))
    with lab() as here:
        box.attach(here, Link(side, side), backend)
        (message,) = here.stream("up", size).messages()
        return message.took
