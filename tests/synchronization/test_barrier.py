"""A barrier: a step is the mean of one gradient from each worker."""

import pytest

from emulator import synchronization
from emulator.synchronization import (
    Barrier,
)
from emulator.units import Fraction, Seconds
from tests.fakes.core.arrivals import ALL, NODES, arrive


def test_a_barrier_waits_for_everyone() -> None:
    barrier = Barrier().start(ALL)
    assert arrive(barrier, "c", "a", "d") is None
    assert [node for node in NODES if barrier.holds(node)] == ["a", "c", "d"]
    assert arrive(barrier, "b") == ["c", "a", "d", "b"]
    assert not any(map(barrier.holds, NODES))


def test_patience_counts_from_the_first_arrival() -> None:
    barrier = Barrier(patience=Seconds.parse("5s")).start(ALL)
    assert barrier.deadline() is None and barrier.tick(100) is None
    arrive(barrier, "a", now=10)
    arrive(barrier, "b", now=14)
    assert barrier.deadline() == 15
    assert barrier.tick(14.9) is None
    assert barrier.tick(15) == ["a", "b"]


def test_who_was_given_up_is_not_waited_for_until_it_is_back() -> None:
    barrier = Barrier().start(ALL)
    arrive(barrier, "a", "b", "c")
    barrier.tick(60)
    assert arrive(barrier, "a", "b", "c") == ["a", "b", "c"]
    assert arrive(barrier, "d", "a", "b") is None
    assert arrive(barrier, "c") == ["d", "a", "b", "c"]
    assert arrive(barrier, "a", "b", "c") is None


def test_a_second_gradient_takes_the_place_of_the_first() -> None:
    barrier = Barrier().start(frozenset("ab"))
    assert barrier.arrive("a", "old", 0) is None
    assert barrier.arrive("a", "new", 1) is None
    assert barrier.arrive("b", "b", 2) == ["new", "b"]


@pytest.mark.parametrize(
    "quorum, members, needed",
    [("100%", 7, 7), ("50%", 4, 2), ("50%", 5, 3), ("7%", 100, 7), ("1%", 3, 1)],
)
def test_a_quorum_is_a_share_of_the_live_rounded_up(quorum: str, members: int, needed: int) -> None:
    nodes = [str(number) for number in range(members)]
    barrier = Barrier(Fraction.parse(quorum)).start(frozenset(nodes))
    assert arrive(barrier, *nodes[:needed]) == nodes[:needed]


@pytest.mark.parametrize(
    "fields", [{"quorum": 0.0}, {"quorum": 1.01}, {"patience": 0.0}, {"patience": float("inf")}]
)
def test_an_impossible_barrier_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        synchronization.make({"kind": "barrier", **fields})


def test_a_step_without_one_that_is_elsewhere_is_made_at_once() -> None:
    barrier = Barrier().start(ALL)
    arrive(barrier, "a", "b", "c")
    assert barrier.leave("a") is None  # its gradient is here, and stays
    assert barrier.leave("d") == ["a", "b", "c"]
    assert barrier.leave("d") is None and barrier.deadline() is None
    assert arrive(barrier, "d", "a", "b") is None  # it is back


def test_only_the_expected_and_those_that_have_arrived_make_a_step() -> None:
    barrier = Barrier().start(ALL)
    arrive(barrier, "d")
    barrier.expect(["a", "b"])
    assert arrive(barrier, "a") is None
    assert arrive(barrier, "b") == ["d", "a", "b"]
    barrier.expect(ALL)
    assert arrive(barrier, "a", "b", "c") is None
