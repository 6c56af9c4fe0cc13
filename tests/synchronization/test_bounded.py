"""Stale synchronous parallel: the fast wait for the slow, within a bound."""

from emulator.synchronization import (
    Bounded,
)
from emulator.units import Seconds

NODES = ["a", "b", "c", "d"]
ALL = frozenset(NODES)


def test_the_fast_wait_once_they_are_ahead_by_more_than_the_bound() -> None:
    clocks = Bounded(bound=1).start(frozenset("ab"))
    for expected in (False, True):
        assert clocks.arrive("a", "a", 0) == ["a"]
        assert clocks.holds("a") == expected
    assert not clocks.holds("b") and clocks.releases == 0
    clocks.arrive("b", "b", 0)
    assert not clocks.holds("a") and clocks.releases == 1


def test_no_bound_to_speak_of_is_asynchronous() -> None:
    clocks = Bounded(bound=10**9).start(ALL)
    for _ in range(1000):
        clocks.arrive("a", "a", 0)
    assert not clocks.holds("a") and clocks.deadline() is None


def test_the_dead_are_given_up_together_and_go_on_at_the_slowest_clock() -> None:
    clocks = Bounded(bound=1, patience=Seconds(5)).start(ALL)
    for node in "aabbcd":  # then d dies at 1, c at 1 too
        clocks.arrive(node, node, 0)
    assert clocks.deadline() is None
    clocks.arrive("a", "a", 10)
    clocks.arrive("b", "b", 12)
    assert clocks.holds("a") and clocks.deadline() == 15
    assert clocks.tick(15) is None
    assert not any(map(clocks.holds, ALL)) and clocks.deadline() is None
    for node in "ab" * 50:
        assert not clocks.holds(node)
        clocks.arrive(node, node, 20)
    clocks.arrive("d", "d", 30)
    assert not any(map(clocks.holds, ALL))
    for _ in range(2):
        clocks.arrive("a", "a", 31)
    assert clocks.holds("a")  # d is waited for again, and b
    clocks.arrive("b", "b", 32)
    assert clocks.holds("a")
    clocks.arrive("d", "d", 33)
    assert not clocks.holds("a")


def test_who_comes_back_while_others_wait_is_waited_for_but_not_for_ever() -> None:
    clocks = Bounded(bound=0, patience=Seconds(5)).start(frozenset("abc"))
    clocks.arrive("a", "a", 0)
    clocks.tick(5)
    clocks.arrive("b", "b", 8)
    assert clocks.deadline() is None and clocks.tick(13) is None
    clocks.arrive("a", "a", 14)
    clocks.arrive("c", "c", 15)
    assert clocks.holds("a") and clocks.deadline() == 19
    assert clocks.tick(19) is None
    assert clocks.holds("a") and clocks.deadline() == 24
    assert clocks.tick(24) is None
    assert not clocks.holds("a")


def test_who_is_heard_of_in_time_is_not_given_up() -> None:
    clocks = Bounded(bound=0, patience=Seconds(5)).start(frozenset("abc"))
    clocks.arrive("a", "a", 0)
    clocks.arrive("b", "b", 4)
    clocks.tick(5)  # without c
    clocks.arrive("a", "a", 6)
    assert clocks.holds("a")
    clocks.arrive("b", "b", 6)
    assert not clocks.holds("a")
