"""The scheduler's averages and windows."""

import pytest

from emulator.core.scheduling.link_fit import RecentRows
from emulator.core.scheduling.scheduler import ComputingAverage, LayerSizes


def test_rows_since_the_last_look_are_taken() -> None:
    rows = RecentRows(width=2, most=5, least=2)

    def taken() -> list[float]:
        found = rows.take().tolist()
        assert all(first == -second for first, second in found)
        return [first for first, _ in found]

    assert taken() == []
    for number in range(3):
        rows.add((number, -number))
    assert taken() == [0, 1, 2]
    assert taken() == [1, 2]  # nothing is new: the least
    rows.add((3, -3))
    assert taken() == [2, 3]
    for number in range(4, 14):
        rows.add((number, -number))
    assert taken() == [9, 10, 11, 12, 13]
    assert taken() == [12, 13]


def test_the_prior_holds_until_something_is_measured() -> None:
    average = ComputingAverage((1.0, 2.0), (3.0, 4.0))
    assert average.means() == ((1.0, 2.0), (3.0, 4.0))
    average.add([2.0, 2.0], [2.0, 2.0])
    assert average.means() == ((2.0, 2.0), (2.0, 2.0))


def test_the_slowest_and_fastest_iterations_do_not_count() -> None:
    average = ComputingAverage((0.0,), (0.0,))
    for seconds in (2.0, 4.0, 3.0, 1000.0, 0.001):
        average.add([seconds], [2 * seconds])
    assert average.means() == ((3.0,), (6.0,))


def test_a_pause_in_every_iteration_counts() -> None:
    """Under a CPU quota each iteration pauses, in any of its layers."""
    average = ComputingAverage((0.0,) * 4, (0.0,) * 4)
    for number in range(32):
        seconds = [0.01] * 8
        seconds[number % 8] += 0.08
        average.add(seconds[:4], seconds[4:])
    forward, backward = average.means()
    assert sum(forward) + sum(backward) == pytest.approx(0.16)


def test_layers_share_the_bytes_of_their_segment() -> None:
    sizes = LayerSizes((100.0, 300.0, 50.0), head=10.0)
    assert sizes.means() == (100.0, 300.0, 50.0)
    for size in (790, 830):
        sizes.add((1, 2), size)
    sizes.add((3, 3), 20)
    assert sizes.means() == pytest.approx((200.0, 600.0, 10.0))
    assert sizes.means() == pytest.approx((200.0, 600.0, 10.0))  # nothing new
    sizes.add((1, 1), 60)
    sizes.add((2, 3), 1230)
    assert sizes.means() == pytest.approx((50.0, 1200.0, 20.0))


def test_layers_without_bytes_may_gain_some() -> None:
    sizes = LayerSizes((0.0, 0.0), head=10.0)
    for size, mean in ((110, 50.0), (0, 0.0), (5, 0.0), (110, 50.0)):
        sizes.add((1, 2), size)
        assert sizes.means() == (mean, mean)
