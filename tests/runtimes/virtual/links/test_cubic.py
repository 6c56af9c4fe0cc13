"""How a congestion window opens again after a time-out, against Linux and against its own laws."""

import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.cubic import INITIAL, RESTART, SEGMENT, Regrowth, recover
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.network import link_constants
from emulator.units import Rate, Seconds
from emulator.world.links.link import FRAME, Link, Side
from tests.fakes.virtual.replayed_transfers import modelled, resumed

# -- whole transfers -------------------------------------------------------------------------------


def link(rate: float, delay: float) -> Link:
    side = Side(Rate(rate), Seconds(delay))
    return Link(up=side, down=side)


@pytest.mark.parametrize(
    ("rate", "delay", "size", "took"),
    [
        (9e6, 0.085, 1_690_000, [6.86]),
        (50e6, 0.050, 1_000_000, [3.83]),
        (9e6, 0.150, 140_000, [3.91, 1.374, 1.090, 1.083]),
        (9e6, 0.150, 22_000, [1.205, 0.750, 0.458, 0.455]),
        (1.6e6, 0.075, 140_000, [2.123, 1.211, 0.939, 0.872]),
        (50e6, 0.010, 1_000_000, [0.771, 0.341, 0.272, 0.242]),
        (50e6, 0.150, 1_000_000, [8.411, 1.996, 1.982, 1.968]),
        (20e6, 0.025, 400_000, [1.296, 0.678, 0.539, 0.487]),
        (9e6, 0.085, 300_000, [3.664, 1.449, 0.980, 0.857]),
    ],
)
def test_what_was_sent_into_a_cut_takes_what_was_measured(
    rate: float, delay: float, size: int, took: list[float]
) -> None:
    """The first message counts from its first segment on, later messages from the time of sending.

    Linux with CUBIC: 6.18 with packets held by tests/netem/hold.py, and 6.1 with netem. The next
    message comes when the connection has rested for seconds.
    """
    here, cut = link(rate, delay), (1.0, 3.7)
    sent = [2.0 + 20 * number for number in range(len(took))]
    arrived = modelled(here, "down", size, sent, cut=cut)
    since = [resumed(here, "down", sent[0], cut), *sent[1:]]
    result = [at - begun for at, begun in zip(arrived, since, strict=True)]
    print(*(f"{model / real - 1:+.1%}" for model, real in zip(result, took, strict=True)))
    assert result == pytest.approx(took, rel=0.15)


@pytest.mark.parametrize(
    ("rate", "delay", "cut", "took"),
    [
        (9e6, 0.085, 0.535, 4.74),
        (9e6, 0.085, 0.952, 3.59),
        (9e6, 0.085, 1.444, 3.09),
        (50e6, 0.050, 0.552, 1.45),
        (9e6, 0.150, 0.546, 9.54),
        (9e6, 0.150, 0.950, 8.21),
        (9e6, 0.150, 1.446, 5.17),
        (20e6, 0.025, 0.552, 1.16),
        (20e6, 0.025, 0.952, 0.76),
    ],
)
def test_what_a_cut_interrupts_takes_what_was_measured(
    rate: float, delay: float, cut: float, took: float
) -> None:
    """3 MB on a new connection, cut `cut` seconds after they are sent; from the first segment on.

    Linux 6.1 with CUBIC and netem.
    """
    here, within = link(rate, delay), (cut, cut + 2.45)
    (arrived,) = modelled(here, "down", 3_000_000, [0.0], cut=within)
    result = arrived - resumed(here, "down", 0.0, within)
    print(f"{result / took - 1:+.1%}")
    assert result == pytest.approx(took, rel=0.15)


# -- a line that is cut again and again ------------------------------------------------------------


def lines(heap: Heap, here: Link) -> LinkGroup:
    return LinkGroup(
        heap, link_constants(here, Link(), "down", tcp=True), 1, lambda who: Random(who)
    )


def noting(heap: Heap, arrived: list[float]) -> Callable[[], None]:
    return lambda: arrived.append(heap.now)


def test_a_new_connection_has_forgotten_the_cut() -> None:
    took = []
    for dies in (False, True):
        heap, arrived = Heap(), list[float]()
        line = lines(heap, link(9e6, 0.15))
        line.cut(0)
        line.send(0, 140_000, noting(heap, arrived))
        heap.at(3.0, *((line.drop, 0) if dies else (line.mend, 0)))
        heap.at(30.0, line.send, 0, 140_000, noting(heap, arrived))
        assert heap.run(math.inf, 1000)
        took.append(arrived[-1] - 30.0)
    fresh = modelled(link(9e6, 0.15), "down", 140_000, [0.0])[0]
    assert took[1] == pytest.approx(fresh)
    assert took[0] > 1.2 * fresh


def test_a_setup_that_a_cut_interrupts_is_over_after_what_was_left_of_it() -> None:
    took = []
    for setup in (0.0, 1.0):
        side = Side(Rate(9e6), Seconds(0.1), setup=Seconds(setup))
        heap, arrived = Heap(), list[float]()
        line = lines(heap, Link(up=Side(delay=Seconds(0.1)), down=side))
        line.send(0, 10_000, noting(heap, arrived))
        heap.at(0.25 if setup else 0.0, line.cut, 0)
        heap.at(0.25 + 1e-6 if setup else 1e-6, line.mend, 0)
        assert heap.run(math.inf, 1000)
        took.append(arrived[0])
    assert took[1] - took[0] == pytest.approx(1.0, abs=0.005)  # the bucket aside


# -- the window ------------------------------------------------------------------------------------

RATES = st.floats(1e4, 1e10) | st.just(math.inf)
TRIPS = st.floats(0, 0.6)
SIZES = st.floats(1, 1e9)
WINDOWS = st.floats(RESTART, 1e7)


def pace(rate: float) -> float:
    return 8 * FRAME / rate


@given(SIZES, SIZES, RATES, TRIPS, WINDOWS)
def test_less_to_send_never_waits_longer(
    size: float, more: float, rate: float, rtt: float, window: float
) -> None:
    idle, after, _ = recover(size, pace(rate), rtt, window)
    assert 0 <= idle <= recover(size + more, pace(rate), rtt, window)[0] * (1 + 1e-9) + 2 * rtt
    assert after >= RESTART


@pytest.mark.slow
@example(1449.0, 24225.0, 0.5, 1448.0)
@given(SIZES, RATES, TRIPS, WINDOWS)
def test_a_time_out_never_makes_a_connection_faster(
    size: float, rate: float, rtt: float, window: float
) -> None:
    """But by half a round trip at most, if hardly more is left than the two probes carry.

    Then the model counts one wait, after the probes, and not the wait after the first segment.
    """
    constants = link_constants(link(1e6, rtt / 2), Link(), "up", tcp=True).tcp
    assert constants is not None
    slow_start = constants.ramp(size, rate, RESTART)[0]
    probes_suffice = window < size <= 3 * SEGMENT
    least = slow_start - rtt / 2 if probes_suffice else slow_start * (1 - 1e-9)
    assert recover(size, pace(rate), rtt, window)[0] >= least - 1e-12


@pytest.mark.slow
@given(SIZES, TRIPS, WINDOWS)
def test_the_window_grows_by_a_twentieth_to_a_double_in_each_round_trip(
    size: float, rtt: float, window: float
) -> None:
    state, at = Regrowth.after(window), RESTART
    for _ in range(40):
        after, state = state._next(at, rtt + 1e-3)
        assert 1.05 * at <= after * (1 + 1e-9) <= 2 * at * (1 + 2e-9)
        at = after


def test_slow_start_ends_at_seven_tenths_of_the_window_that_was_struck() -> None:
    assert Regrowth.after(INITIAL).threshold == pytest.approx(7 * SEGMENT)
    assert Regrowth.after(SEGMENT).threshold == 2 * SEGMENT


def test_a_window_that_has_filled_the_link_is_like_any_other() -> None:
    _, _, state = recover(1e8, pace(9e6), 0.17, INITIAL)
    assert state is None
    _, _, state = recover(1e5, pace(9e6), 0.17, INITIAL)
    assert state is not None


def test_a_pause_lets_slow_start_open_the_window_again_up_to_three_quarters() -> None:
    state = Regrowth.after(INITIAL)
    assert state.begun(40 * SEGMENT).threshold == 30 * SEGMENT
    assert state.begun(4 * SEGMENT).threshold == state.threshold
