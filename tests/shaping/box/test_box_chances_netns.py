"""Real packets of two namespaces through the box: the deviation of jitter, and bursts of losses."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from statistics import fmean, stdev

import pytest

from emulator.units import Fraction, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.loss_models import Gemodel, LossModel
from tests.containers.host_pace import judged
from tests.netem.box import PacketBox
from tests.netem.lab import Way, lab

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces"),
    pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs /dev/net/tun"),
]


def test_jitter_has_the_deviation_asked_for(box: PacketBox) -> None:
    """Of 250 draws the deviation is within 12 % in 99 of 100 trials: two outside are a fault.

    A busy host has jitter of its own, which packets show that go down meanwhile.
    """
    delay, jitter = Seconds(0.05), Seconds(0.005)

    def deviation(way: Way) -> float:
        seen = here.spray(way, 250, 0.03)
        assert [number for number, _, _ in seen] == list(range(250))
        return stdev(received - sent for _, sent, received in seen)

    def both_ways() -> list[float]:
        with ThreadPoolExecutor() as threads:
            return list(threads.map(deviation, ("up", "down")))

    def kept(found: list[float], _longer: float) -> bool:
        seconds, host = found
        return 0.88 * jitter < seconds < 1.12 * math.hypot(jitter, host)

    with lab() as here:
        box.attach(here, Link(Side(delay=delay, jitter=jitter), Side(delay=delay)))
        here.ping(1)
        judged(both_ways, kept)


def test_losses_come_in_bursts(box: PacketBox) -> None:
    """Bursts of 4 packets on average; 15 % are 3.5 deviations of the mean of 400 bursts."""
    model = LossModel(Gemodel(Fraction(0.05), Fraction(0.25)))
    with lab() as here:
        box.attach(here, Link(up=Side(delay=Seconds(0.002), loss_model=model)))
        here.ping(1)
        numbers = [number for number, _, _ in here.spray("up", 10_000, 0.0004)]
    bursts = [after - before - 1 for before, after in pairwise(numbers) if after > before + 1]
    print(f"{len(bursts)} bursts of {fmean(bursts):.2f} for {model.chain.burst:.2f}")
    assert fmean(bursts) == pytest.approx(model.chain.burst, rel=0.15)
