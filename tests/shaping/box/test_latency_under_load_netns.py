"""The queue of a link fills in both directions while a TCP connection sends: latency under load."""

import os
from statistics import quantiles

import pytest

from emulator.shaping import tc
from emulator.shaping.backend import Backend
from emulator.units import Rate, Seconds
from emulator.world.links.link import Link, Side
from tests.containers.host_pace import at_once, judged_each
from tests.netem.box import BARE, TBF, PacketBox
from tests.netem.lab import Way, lab

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs /dev/net/tun"),
]

RATE, DELAY = Rate(2e6), Seconds(0.02)
GAP, SECONDS, FILLED = 0.03, 6.0, 3.0
"""Seconds between two probes, of the whole load, and until the queue has filled."""


@pytest.mark.parametrize("backend", [TBF, BARE], ids=["tbf", "box"])
def test_the_latency_under_load_is_the_time_of_a_full_queue(
    box: PacketBox, backend: Backend
) -> None:
    """As of a home's line: beside a bulk transfer a probe waits for queue / rate, within 15 %.

    The queue is full just before TCP notices a loss, so the 95th percentile counts. Each way is
    loaded on a link of its own, both at once.
    """
    full = 8 * tc.queue(RATE) / RATE
    ways: tuple[Way, Way] = ("up", "down")
    judged_each(
        at_once(lambda way: _under_load(box, way, backend) / full),
        ways,
        lambda waited, longer: 0.85 / longer < waited < 1.15 * longer,
    )


def _under_load(box: PacketBox, way: Way, backend: Backend) -> float:
    """Return the seconds for which probes wait beside a transfer: the 95th percentile."""
    side = Side(RATE, DELAY)
    with lab() as here:
        box.attach(here, Link(side, side), backend)
        here.ping(1)
        here.stream(way, round(RATE / 8 * (SECONDS + 2)))
        times = here.ping(round(SECONDS / GAP), gap=GAP)
    late = [each for each in times[round(FILLED / GAP) :] if each is not None]
    return quantiles(late, n=20)[-1] - 2 * DELAY
