"""A CPU quota in virtual time, against the kernel's accounting in tiny steps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.runtimes.virtual.device.processor import packet_size, reception
from emulator.units import Fraction, Rate
from emulator.world.cpu_quota import PERIOD, Quota, least_seconds
from emulator.world.links.link import Side

SEEN = {8e6: 0.044, 10e6: 0.035, 50e6: 0.0098, 200e6: 0.0071}
"""Seconds of a core that containers spent on receiving a model of 1.7 MB, by bits a second."""

TICKS = 1000
"""Of a period, in the plain account below."""


def ticked(share: float, works: list[tuple[int, int]]) -> list[int]:
    """The same by the definition: tick by tick, with a budget filled up once a period."""
    budget, now, done = 0, 0, []
    allowance = round(share * TICKS)
    for pause, work in works:
        for tick in range(2):
            left = pause if tick == 0 else work
            while left:
                if now % TICKS == 0:
                    budget = allowance
                if tick == 0:
                    left -= 1
                elif budget:
                    budget -= 1
                    left -= 1
                now += 1
        done.append(now)
    return done


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.sampled_from([0.04, 0.1, 0.25, 0.5, 0.999]),
    st.lists(st.tuples(st.integers(0, 2500), st.integers(1, 900)), min_size=1, max_size=6),
)
def test_work_is_done_when_the_kernel_would_have_done_it(
    share: float, works: list[tuple[int, int]]
) -> None:
    quota, now, result = Quota(share), 0.0, []
    tick = PERIOD / TICKS
    for pause, work in works:
        now = quota.finish(now + pause * tick, work * tick)
        result.append(now / tick)
    assert result == pytest.approx(ticked(share, works), abs=1e-3)


def test_a_rested_device_is_not_slowed_by_what_fits_its_budget() -> None:
    assert Quota(0.2).finish(7.01, 0.02) == pytest.approx(7.03)


def test_long_work_takes_its_share_of_the_time() -> None:
    assert Quota(0.04).finish(0.0, 4.0) == pytest.approx(100.0, rel=1e-3)


@pytest.mark.parametrize("share", [0.04, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("work", [0.001, 0.008, 0.02, 0.04, 0.041, 0.1, 0.15, 0.4])
def test_no_work_is_done_faster_than_from_the_end_of_a_period_on(share: float, work: float) -> None:
    beginnings = [number * PERIOD / 500 for number in range(501)] + [(1 - share) * PERIOD]
    times = [Quota(share).finish(began, work) - began for began in beginnings]
    assert least_seconds(work, share) == pytest.approx(min(times))


def test_work_runs_on_into_the_next_period() -> None:
    """Five of the twenty milliseconds lie before it, and it brings twenty more."""
    assert Quota(0.2).finish(0.095, 0.02) == pytest.approx(0.115)


def test_what_went_on_beside_is_taken_from_the_period_that_it_fell_into() -> None:
    """Half of the sixty milliseconds' work lies in this period, and takes all but ten of forty."""
    quota = Quota(0.4)
    quota.spend(7.05, 0.06, 0.1)
    assert quota.finish(7.05, 0.01) == pytest.approx(7.06)
    assert quota.finish(7.06, 0.01) == pytest.approx(7.11)


@pytest.mark.parametrize(("rate", "seconds"), SEEN.items())
def test_a_model_costs_what_containers_were_seen_to_spend_on_it(
    rate: float, seconds: float
) -> None:
    sent = packet_size(Side(), [Side(rate=Rate(rate)) for rate in SEEN])
    received, size = reception(Side(rate=Rate(rate)), sent), 4 * 421_642
    assert received is not None
    assert size * received.work == pytest.approx(seconds, rel=0.3)
    assert size * received.over == pytest.approx(size * 8 * 1514 / 1448 / rate)


def test_receiving_from_an_unshaped_link_is_a_part_of_the_step() -> None:
    assert reception(Side(), packet_size(Side(), [])) is None


def test_packets_that_a_link_cuts_come_frame_by_frame() -> None:
    fast, lossy = Side(rate=Rate(50e6)), Side(rate=Rate(50e6), loss=Fraction(0.001))
    slow, charged = Side(rate=Rate(8e6)), Side(rate=Rate(50e6), overhead=8)
    assert packet_size(Side(), [fast, slow]) == 9 * 1514
    assert packet_size(Side(), [slow]) == packet_size(Side(), []) == 65536
    pieces = [reception(side, 9 * 1514) for side in (fast, lossy, slow, charged)]
    assert pieces[0].work < pieces[1].work / 4  # type: ignore[union-attr]
    assert pieces[1].work == pieces[2].work == pieces[3].work  # type: ignore[union-attr]
