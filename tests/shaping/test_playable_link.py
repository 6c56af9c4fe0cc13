"""Links of a dilated world, and the commands that play them."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.shaping import access, tc
from emulator.shaping.backend import Backend
from emulator.shaping.playable_link import SLOWEST, dilated, dilated_side, out_of_bounds
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from emulator.world.links.link_course import OUTAGE
from emulator.world.links.reshaping import reshaped

ADSL = Link(
    up=Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.001), Seconds(0.01)),
    down=Side(Rate(8e6), Seconds(0.025)),
)
GOLDEN = """\
tc qdisc add dev eth0 parent 504e:1 handle 504f: tbf rate 250000bit burst 1764 limit 31250 \
overhead 8 peakrate 100gbit mtu 1514
tc qdisc add dev eth0 parent 504f:1 handle 5050: netem limit 24 delay 100000us 12000us 25.000000% \
distribution pareto loss 0.100000% duplicate 1.000000% reorder 10.000000% gap 3 rate 100gbit
tc qdisc add dev ifb-eth0 root handle 504e: tbf rate 2000000bit burst 3514 limit 250000
tc qdisc add dev ifb-eth0 parent 504e:1 handle 504f: netem limit 182 delay 100000us rate 100gbit
"""
DELAYS = st.just(0.0) | st.floats(1e-9, 10)
"""Down to less than a bit's time: subnormal numbers have too few digits for the law."""
NETEM = Backend(rate="tbf", delay="netem", loss="netem", cut="nftables")


def test_rates_are_divided_and_times_multiplied() -> None:
    up = dilated(ADSL, 4).up
    assert (up.rate, up.delay, up.jitter, up.setup) == (250_000, 0.1, 0.012, 0.04)
    assert up.loss == ADSL.up.loss


def test_without_a_dilation_a_link_stays() -> None:
    assert dilated(ADSL, 1) == ADSL


@given(st.floats(1, 1000), st.floats(1e5, 1e9), DELAYS)
def test_packets_under_way_stay_as_many(dilation: float, rate: float, delay: float) -> None:
    side = Side(Rate(rate), Seconds(delay))
    slow = dilated_side(side, dilation)
    assert slow.rate is not None
    assert abs(slow.rate * slow.delay - rate * delay) <= 1e-9 * rate * delay


def test_the_commands_of_a_dilated_link() -> None:
    """With all keys of netem: rates and times are those of real time, shares and bytes stay."""
    up = replace(ADSL.up, distribution="pareto", correlation=Fraction(0.25))
    up = replace(up, duplicate=Fraction(0.01), reorder=Fraction(0.1), gap=3, overhead=8)
    lines = _text(dilated(Link(up=up, down=ADSL.down), 4)).splitlines()
    assert [line for line in lines if " tbf " in line or " netem " in line] == GOLDEN.splitlines()


def test_a_queue_holds_the_bytes_of_the_undilated_rate() -> None:
    """As many bytes at a quarter of the rate: each waits four times as long, in real seconds."""
    own, slow = (tc.bucket(side, changing=False) for side in (ADSL.down, dilated(ADSL, 4).down))
    assert own.partition("limit")[2] == slow.partition("limit")[2] == " 250000"
    places = [re.findall(r"netem limit (\d+)", _text(link)) for link in (ADSL, dilated(ADSL, 4))]
    assert places[0] == places[1] != []


@given(st.floats(1, 1000), st.floats(1e5, 1e9))
def test_packets_are_as_long(dilation: float, rate: float) -> None:
    """A packet wakes a process up, whatever its length: shorter ones would cost more."""
    server, side = Side(), Side(Rate(rate))
    slow = dilated_side(side, dilation)
    assert abs(tc.usual_burst(slow) - tc.burst(Rate(rate))) <= 1
    own, slowed = (tc.segments(server, [each], NETEM) for each in (side, slow))
    assert own == slowed or rate * tc.SLACK / 8 % 1 < 1e-3


def _text(link: Link) -> str:
    return "\n".join(map(str, access.shape(link, NETEM)))


@pytest.mark.parametrize("dilation", [1, 2, 1000])
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_an_outage_can_be_played_under_a_fault_and_a_dilation(
    factor: float, dilation: float
) -> None:
    """A box that refuses a rate ends the run, which may be hours old when a trace comes there."""
    link = reshaped(Link(up=Side(OUTAGE), down=Side(Rate(8e6))), {"rate": factor})
    slow = dilated(link, dilation)
    assert [*out_of_bounds(slow.up), *out_of_bounds(slow.down)] == []
    assert (slow.up.rate, slow.down.rate) == (SLOWEST, factor * 8e6 / dilation)


def test_a_side_without_a_rate_or_shape_stays_one() -> None:
    assert not dilated(Link(), 4).shaped
    assert dilated_side(Side(delay=Seconds(0.1)), 4) == Side(delay=Seconds(0.4))
