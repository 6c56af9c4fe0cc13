"""Workers that say goodbye: nobody waits for them, and no patience is spent."""

from typing import Any

import pytest

from emulator.synchronization import Barrier, Bounded, ComputeGroups, FedAvg, LocalSGD, Softsync
from emulator.units import Fraction, Seconds
from tests.fakes.core.arrivals import ALL, NODES, arrive

LONG = Seconds(1e6)


def test_a_barrier_goes_on_without_who_left_and_waits_again_for_who_is_back() -> None:
    barrier = Barrier(patience=LONG).start(ALL)
    assert arrive(barrier, "a", "b", "c") is None
    assert barrier.departed("d", 1.0) == ["a", "b", "c"] and barrier.releases == 1
    assert arrive(barrier, "a", "b", "c") == ["a", "b", "c"]
    barrier.returned("d", 2.0)
    assert arrive(barrier, "a", "b", "c") is None
    assert arrive(barrier, "d") == ["a", "b", "c", "d"]


def test_a_gradient_outlives_the_device_that_left_and_is_waited_with() -> None:
    barrier = Barrier(patience=LONG).start(frozenset("abc"))
    assert arrive(barrier, "a") is None
    assert barrier.departed("a", 1.0) is None
    assert arrive(barrier, "b") is None  # c is still waited for
    assert arrive(barrier, "c") == ["a", "b", "c"]
    assert arrive(barrier, "b", "c") == ["b", "c"]


def test_all_may_leave_a_barrier_and_come_back() -> None:
    barrier = Barrier(patience=LONG).start(frozenset("ab"))
    assert barrier.departed("a", 0.0) is barrier.departed("b", 0.0) is None
    assert barrier.deadline() is None
    barrier.returned("b", 1.0)
    assert arrive(barrier, "b") == ["b"]
    barrier.returned("a", 1.0)
    assert arrive(barrier, "a", "b") == ["a", "b"]


def test_a_group_goes_on_without_who_left() -> None:
    steps: Any = ComputeGroups(groups=2, patience=LONG).start(ALL)
    assert arrive(steps, "a") is None
    assert steps.departed("b", 1.0) == ["a"] and set(steps.take_released()) == {"a", "b"}
    assert steps.deadline() is None
    assert steps.departed("c", 1.0) is None
    assert arrive(steps, "d") == ["d"]
    steps.returned("c", 2.0)
    assert arrive(steps, "c") is None and arrive(steps, "d") == ["c", "d"]


def test_softsync_counts_the_workers_that_are_there() -> None:
    softsync = Softsync(splits=1).start(ALL)
    assert arrive(softsync, "a", "a") is None
    assert softsync.departed("b", 1.0) is None
    assert softsync.departed("c", 1.0) == ["a", "a"]
    assert arrive(softsync, "a") is None
    softsync.returned("b", 2.0)
    assert arrive(softsync, "b") is None and arrive(softsync, "a") == ["a", "b", "a"]


def test_the_slowest_clock_is_not_that_of_a_worker_that_left() -> None:
    clocks = Bounded(bound=1, patience=LONG).start(frozenset("abc"))
    for node in "aab":
        clocks.arrive(node, node, 0)
    assert clocks.holds("a") and clocks.deadline() == LONG
    clocks.departed("c", 1.0)
    assert not clocks.holds("a") and clocks.deadline() is None and clocks.releases == 1
    clocks.arrive("a", "a", 1)
    clocks.returned("c", 2.0)  # at the slowest clock, b's
    clocks.arrive("b", "b", 2)
    assert clocks.holds("a")
    clocks.arrive("c", "c", 2)
    assert not clocks.holds("a")


def test_a_worker_that_is_held_may_leave_and_with_it_every_other() -> None:
    clocks = Bounded(bound=0, patience=LONG).start(frozenset("ab"))
    clocks.arrive("a", "a", 0)
    assert clocks.holds("a") and clocks.deadline() == LONG
    clocks.departed("a", 1.0)
    assert clocks.deadline() is None
    clocks.departed("b", 1.0)
    clocks.returned("a", 2.0)
    assert not clocks.holds("a")  # nobody is left who could be slower
    clocks.returned("b", 2.0)
    clocks.arrive("b", "b", 2)
    assert clocks.holds("b") and not clocks.holds("a")


def test_a_step_after_the_given_up_and_the_departed_does_not_stall() -> None:
    clocks = Bounded(bound=0, patience=Seconds(5)).start(frozenset("abc"))
    clocks.arrive("a", "a", 0)
    clocks.departed("a", 1.0)
    assert clocks.tick(6) is None
    clocks.arrive("b", "b", 7)
    assert clocks.holds("b")
    clocks.tick(12)
    assert not clocks.holds("b")


@pytest.mark.parametrize("kind", [FedAvg(clients=Fraction(1)), LocalSGD(steps=2)])
def test_a_round_ends_without_who_left_and_draws_nobody_who_is_gone(kind: Any) -> None:
    rounds = kind.start(ALL)
    rounds.begin(0.0)
    for node in NODES:
        rounds.sent(node)
    assert arrive(rounds, "a", "b", "c") is None
    assert rounds.departed("d", 1.0) == ["a", "b", "c"]
    assert [rounds.holds(node) for node in NODES] == [False, False, False, True]
    for node in "abc":
        rounds.sent(node)
    assert arrive(rounds, "a", "b", "c") == ["a", "b", "c"]
    rounds.returned("d", 2.0)
    assert rounds.holds("d")  # it takes part from the next round on
    for node in "abc":
        rounds.sent(node)
    assert arrive(rounds, "a", "b", "c") == ["a", "b", "c"] and not rounds.holds("d")


def test_a_round_of_nobody_waits_for_the_first_who_comes_back() -> None:
    rounds: Any = FedAvg(clients=Fraction(0.5)).start(ALL)
    rounds.begin(0.0)
    for node in NODES:
        assert rounds.departed(node, 1.0) in (None, [])
    assert rounds.deadline() is None and rounds.tick(1e9) is None
    rounds.returned("c", 2.0)
    assert not rounds.holds("c") and rounds.deadline() == 302
    rounds.sent("c")
    assert arrive(rounds, "c") == ["c"]
