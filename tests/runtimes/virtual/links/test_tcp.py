"""What TCP makes of a link, against arithmetic and against what was once measured."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.runtimes.virtual.links.cubic import INITIAL, RESTART
from emulator.runtimes.virtual.links.tcp import _LEAST_TIMEOUT, Tcp
from emulator.shaping.tc import burst
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import FRAME, Link, Side
from tests.fakes.virtual.replayed_transfers import modelled

BARE = Side()
BITS = 8 * FRAME


def tcp(rate: float | None, rtt: float = 0.0, loss: float = 0.0) -> Tcp:
    """Half of the round trip each way."""
    there = Side(Rate(rate) if rate else None, Seconds(rtt / 2), loss=Fraction(loss))
    return Tcp.of(there, Side(delay=Seconds(rtt / 2)), BARE, BARE)


RATES = st.floats(1e4, 1e9)
TRIPS = st.floats(0, 0.6)
LOSSES = st.floats(1e-5, 0.9)
SIZES = st.floats(1, 1e8)
WINDOWS = st.floats(RESTART, 1e7)


def test_it_knows_both_ends() -> None:
    device = Side(Rate(8e6), Seconds(0.02), loss=Fraction(0.1))
    server = Side(Rate(2e6), Seconds(0.01), loss=Fraction(0.2))
    made = Tcp.of(device, Side(delay=Seconds(0.03)), server, Side(delay=Seconds(0.04)))
    assert made.rtt == pytest.approx(0.1)
    assert made.loss == pytest.approx(1 - 0.9 * 0.8)
    assert made.pace == BITS / 2e6
    assert made.bucket == 8 * burst(Rate(8e6))


# -- slow start ----------------------------------------------------------------------------------


def test_each_round_trip_carries_twice_as_much() -> None:
    made = tcp(8e6, rtt=0.08)
    idle, window = made.ramp(100_000, 8e6, INITIAL)  # 10 + 20 segments, then what is left
    assert idle == pytest.approx((0.08 - INITIAL * made.pace) + (0.08 - 2 * INITIAL * made.pace))
    assert window == INITIAL + 100_000


@pytest.mark.parametrize(("rate", "rtt"), [(8e6, 0.0), (1e6, 0.1), (50e6, 0.002)])
def test_a_window_as_long_as_the_round_trip_never_waits(rate: float, rtt: float) -> None:
    assert tcp(rate, rtt).ramp(1e9, rate, INITIAL)[0] == 0


def test_what_fits_the_window_does_not_wait_and_what_is_far_below_leaves_it() -> None:
    made = tcp(50e6, 0.08)
    assert made.ramp(INITIAL, 50e6, INITIAL) == (0, 2 * INITIAL)
    assert made.ramp(INITIAL, 50e6, 4 * INITIAL) == (0, 4 * INITIAL)


@given(SIZES, SIZES, RATES, TRIPS, WINDOWS, WINDOWS)
def test_less_to_send_or_a_wider_window_never_waits_longer(
    size: float, more: float, rate: float, rtt: float, window: float, wider: float
) -> None:
    made = tcp(rate, rtt)
    idle, after = made.ramp(size, rate, window)
    assert 0 <= idle <= made.ramp(size + more, rate, window)[0] + 1e-9
    assert made.ramp(size, rate, window)[1] >= window
    # what is sent in whole rounds is over when the last acknowledgement is back
    assert idle <= rtt * max(0, math.ceil(math.log2(size / window + 1)))
    assert after <= max(window, window + size)
    if wider > window:
        assert made.ramp(size, rate, wider)[0] <= idle + 1e-9


def test_an_unshaped_link_still_has_its_round_trips() -> None:
    made = tcp(None, 0.1)
    assert made.ramp(3 * INITIAL, math.inf, INITIAL)[0] == pytest.approx(0.1)
    assert tcp(None).ramp(1e9, math.inf, INITIAL)[0] == 0


# -- rest ----------------------------------------------------------------------------------------


def test_a_pause_halves_the_window_for_each_time_out() -> None:
    made = tcp(1e9, 0.1)  # so fast that nothing waits: the time-out is 0.3 s
    wide = 64 * INITIAL
    assert [made.window(wide, idle) / INITIAL for idle in (0, 0.29, 0.31, 0.61, 0.91)] == [
        *(64, 64, 32, 16, 8)
    ]
    assert made.window(wide, 3600) == made.window(wide, 1e9) == INITIAL


def test_a_window_that_never_opened_stays() -> None:
    made = tcp(8e6, 0.08)
    assert made.window(INITIAL, math.inf) == INITIAL  # a new connection
    assert made.window(RESTART, 10) == RESTART


@pytest.mark.slow
@given(RATES, TRIPS, WINDOWS, st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_longer_pause_never_leaves_more(
    rate: float, rtt: float, window: float, idle: float, longer: float
) -> None:
    made = tcp(rate, rtt)
    assert made.window(window, idle + longer) <= made.window(window, idle) <= window


def test_an_idle_shaper_saves_up_a_burst_and_no_more() -> None:
    made = tcp(8e6)
    assert made.credit(0.0) == 0
    assert made.credit(0.001) == pytest.approx(8000)
    assert made.credit(1.0) == made.credit(math.inf) == 8 * burst(Rate(8e6))
    assert tcp(None).credit(math.inf) == 0


# -- loss ----------------------------------------------------------------------------------------


@given(RATES, TRIPS)
def test_without_loss_all_of_the_rate_is_left(rate: float, rtt: float) -> None:
    assert tcp(rate, rtt).limit(rate) == rate
    assert tcp(None, rtt).limit(math.inf) == math.inf


@given(RATES, TRIPS, TRIPS, LOSSES, LOSSES)
def test_more_loss_or_a_longer_way_never_leaves_more(
    rate: float, rtt: float, longer: float, loss: float, more: float
) -> None:
    left = tcp(rate, rtt, loss).limit(rate)
    assert 0 < left <= rate * (1 - loss) * (1 + 1e-9) or left == 1.0
    assert tcp(rate, rtt, 1 - (1 - loss) * (1 - more)).limit(rate) <= left * (1 + 1e-9)
    assert tcp(rate, rtt + longer, loss).limit(rate) <= left * (1 + 1e-9)


def test_little_loss_costs_what_the_square_root_law_says() -> None:
    loss, rtt = 0.001, 0.05
    segments = math.sqrt(1.5 / loss) / rtt
    assert tcp(1e9, rtt, loss).limit(1e9) == pytest.approx(segments * 1514 * 8, rel=0.05)


def test_on_a_long_way_with_little_loss_cubic_is_ahead() -> None:
    loss, rtt = 0.0001, 0.3
    segments = math.sqrt(1.5 / loss) / rtt
    assert tcp(1e9, rtt, loss).limit(1e9) > 2 * segments * 1514 * 8


def test_a_link_that_loses_all_takes_finite_ages() -> None:
    assert 0 < tcp(8e6, 0.1, 1.0).limit(8e6) <= 1
    assert 0 < tcp(None, 0.0, 0.5).limit(math.inf) < math.inf


@pytest.mark.parametrize(
    ("rate", "rtt", "loss", "segments"),
    [
        (8e6, 0.0, 0.01, 652),
        (8e6, 0.0, 0.02, 643),
        (8e6, 0.0, 0.05, 567),
        (8e6, 0.02, 0.001, 648),
        (8e6, 0.02, 0.01, 480),
        (8e6, 0.02, 0.05, 157),
        (8e6, 0.08, 0.01, 149),
        (8e6, 0.08, 0.05, 47.6),
        (1e6, 0.08, 0.01, 78.9),
        (50e6, 0.004, 0.02, 1722),
        (50e6, 0.004, 0.05, 726),
        (50e6, 0.004, 0.1, 260),
        (50e6, 0.02, 0.001, 1584),
        (50e6, 0.02, 0.01, 487),
        (50e6, 0.02, 0.02, 402),
        (50e6, 0.02, 0.05, 210),
        (50e6, 0.02, 0.1, 127),
        (50e6, 0.08, 0.01, 151),
        (50e6, 0.08, 0.02, 89.0),
        (50e6, 0.08, 0.05, 49.4),
        (50e6, 0.08, 0.1, 31.7),
    ],
)
def test_loss_leaves_what_was_measured(
    rate: float, rtt: float, loss: float, segments: float
) -> None:
    """Full frames a second, Linux 6.1 with CUBIC and netem; a few hundred losses each: ±10 %."""
    left = tcp(rate, rtt, loss).limit(rate) / (1514 * 8)
    print(f"{left:.1f} for {segments}: {left / segments - 1:+.0%}")
    assert left == pytest.approx(segments, rel=0.3)


# -- time-outs -----------------------------------------------------------------------------------


def first_timeout(made: Tcp) -> float:
    """Return the seconds until TCP first repeats a segment without acknowledgement (RFC 6298)."""
    return _LEAST_TIMEOUT + made._felt(INITIAL)


def test_tries_are_twice_as_far_apart_each_time() -> None:
    made = tcp(1e9, 0.1)  # a probe after 0.2 s, then time-outs of 0.3, 0.6, 1.2 s
    assert first_timeout(made) == pytest.approx(0.3)
    tries = [10.2, 10.5, 11.1, 12.3, 14.7]
    assert [made.resumed(10, at - 0.01) for at in tries] == pytest.approx(tries)
    assert made.resumed(10, 10.5) == pytest.approx(11.1, abs=0.7)


def test_tries_are_never_further_apart_than_two_minutes() -> None:
    made = tcp(1e9, 0.1)
    assert 86400 <= made.resumed(0, 86400) <= 86400 + 120


@given(RATES, TRIPS, st.floats(0, 1e4), st.floats(0, 1e4), st.floats(0, 1e3))
def test_nothing_is_tried_before_the_end_nor_sooner_after_a_later_one(
    rate: float, rtt: float, since: float, lasts: float, longer: float
) -> None:
    made = tcp(rate, rtt)
    until = since + lasts
    assert until <= made.resumed(since, until) <= made.resumed(since, until + longer)
    assert made.resumed(since, until) - until <= lasts + 2 * first_timeout(made)


# -- whole transfers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "delay", "size", "took"),
    [
        (1e6, 0.0, 10_000, 0.0697),
        (1e6, 0.0, 1_000_000, 8.3533),
        (8e6, 0.0, 10_000, 0.0070),
        (8e6, 0.0, 10_000_000, 10.4528),
        (50e6, 0.0, 100_000, 0.0146),
        (50e6, 0.0, 10_000_000, 1.6708),
        (1e6, 0.01, 100_000, 0.8333),
        (1e6, 0.04, 10_000, 0.1097),
        (8e6, 0.01, 100_000, 0.1162),
        (8e6, 0.04, 10_000, 0.0470),
        (8e6, 0.04, 22_000, 0.1246),
        (8e6, 0.04, 100_000, 0.2560),
        (8e6, 0.04, 1_000_000, 1.2164),
        (50e6, 0.01, 1_700_000, 0.3362),
        (50e6, 0.04, 100_000, 0.2075),
        (50e6, 0.04, 1_700_000, 0.6500),
        (50e6, 0.04, 10_000_000, 2.0386),
    ],
)
def test_a_new_connection_takes_what_was_measured(
    rate: float, delay: float, size: int, took: float
) -> None:
    """Linux 6.18 without delay; 6.1 with netem. A sleep's error aside."""
    side = Side(Rate(rate), Seconds(delay))
    (arrived,) = modelled(Link(up=side, down=side), "up", size, [0.0])
    assert arrived == pytest.approx(took, rel=0.01, abs=0.0002)


@pytest.mark.parametrize(
    ("rate", "size", "every", "took"),
    [
        (8e6, 22_000, 0.258, 0.0597),
        (8e6, 22_000, 0.458, 0.1202),
        (8e6, 22_000, 0.658, 0.1246),
        (8e6, 100_000, 0.340, 0.1414),
        (8e6, 100_000, 0.540, 0.1609),
        (8e6, 100_000, 0.940, 0.2106),
        (8e6, 100_000, 1.240, 0.2560),
        (8e6, 1_000_000, 1.281, 1.0823),
        (8e6, 1_000_000, 3.0, 1.1954),
        (50e6, 100_000, 0.472, 0.1251),
        (50e6, 100_000, 0.672, 0.1251),
        (50e6, 1_700_000, 0.804, 0.3224),
        (50e6, 1_700_000, 1.004, 0.3383),
        (50e6, 1_700_000, 1.5, 0.3866),
        (50e6, 1_700_000, 2.704, 0.6502),
    ],
)
def test_a_connection_that_has_rested_takes_what_was_measured(
    rate: float, size: int, every: float, took: float
) -> None:
    """The second message; 40 ms each way."""
    side = Side(Rate(rate), Seconds(0.04))
    _, arrived = modelled(Link(up=side, down=side), "up", size, [0.0, every])
    assert arrived - every == pytest.approx(took, rel=0.1)
