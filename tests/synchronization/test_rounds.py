"""Rounds of clients: federated averaging and local SGD."""

from typing import Any

import pytest

from emulator import synchronization
from emulator.errors import WireError
from emulator.synchronization import (
    Barrier,
    FedAvg,
    LocalSGD,
    LocalTraining,
)
from emulator.units import Fraction, Seconds
from tests.fakes.core.arrivals import arrive

NODES = ["a", "b", "c", "d"]
ALL = frozenset(NODES)


CROWD = frozenset(map(str, range(20)))


def picked(synchronizer: Any, members: frozenset[str] = CROWD) -> set[str]:
    return {node for node in members if not synchronizer.holds(node)}


def play(synchronizer: Any, nodes: set[str], now: float = 0.0) -> list[str] | None:
    """Send the model to `nodes` and let them arrive in order; return the result of the last
    arrival."""
    for node in nodes:
        synchronizer.sent(node)
    return arrive(synchronizer, *sorted(nodes), now=now)


@pytest.mark.parametrize(
    "share, members, clients", [("10%", 20, 2), ("100%", 20, 20), ("1%", 20, 1), ("7%", 100, 7)]
)
def test_a_round_is_for_a_share_of_all_at_least_one(share: str, members: int, clients: int) -> None:
    crowd = frozenset(map(str, range(members)))
    rounds = FedAvg(Fraction.parse(share)).start(crowd)
    assert len(picked(rounds, crowd)) == clients


def test_clients_are_drawn_anew_each_round_from_the_seed_alone() -> None:
    drawn = {}
    for seed in (1, 1, 2):
        rounds, drawn[seed] = FedAvg(Fraction(0.25)).start(CROWD, seed), []
        rounds.begin(0.0)
        for _ in range(30):
            nodes = picked(rounds)
            drawn[seed].append(nodes)
            assert sorted(play(rounds, nodes) or []) == sorted(nodes)
            assert rounds.deadline() == 300
        assert drawn[seed][1] != drawn[seed][0] and set[str]().union(*drawn[seed]) == CROWD
        assert drawn[seed] == drawn[1] or seed != 1
    assert drawn[1] != drawn[2]


def test_who_has_sent_waits_for_the_next_round() -> None:
    rounds = LocalSGD().start(frozenset("ab"))
    rounds.begin(0.0)
    rounds.sent("a")
    assert rounds.arrive("a", "a", 1) is None
    assert rounds.holds("a") and not rounds.holds("b") and rounds.releases == 0
    rounds.sent("b")
    assert rounds.arrive("b", "b", 2) == ["a", "b"]
    assert picked(rounds, frozenset("ab")) == {*"ab"} and rounds.releases == 1


def test_a_round_ends_with_patience_and_who_comes_later_is_refused() -> None:
    rounds = LocalSGD(patience=Seconds(5)).start(frozenset("abc"))
    assert rounds.deadline() is None
    rounds.begin(100.0)
    for node in "abc":
        rounds.sent(node)
    rounds.arrive("a", "a", 101)
    assert rounds.deadline() == 105 and rounds.tick(104.9) is None
    assert rounds.tick(105) == ["a"]
    with pytest.raises(WireError, match="the update of b is too late: its round is over"):
        rounds.arrive("b", "b", 105.1)
    rounds.sent("b")  # now it has the model of this round
    assert rounds.arrive("b", "b", 106) is None
    assert play(rounds, {"a"}, 106) == ["b", "a"]  # c is waited for no more
    assert play(rounds, {"c"}, 107) is None  # but may come, and is then
    assert play(rounds, {"a"}, 107) is None
    assert play(rounds, {"b"}, 107) == ["c", "a", "b"]


def test_a_round_in_which_nobody_answers_makes_no_step() -> None:
    rounds = FedAvg(Fraction(0.1), patience=Seconds(5)).start(CROWD)
    rounds.begin(0.0)
    first = picked(rounds)
    assert rounds.tick(5) == [] and rounds.releases == 1
    assert rounds.deadline() == 10 and picked(rounds) != first


def test_an_update_of_an_empty_round_counts_in_the_next() -> None:
    """No step was made, so the model that the device learns from is still the current one."""
    rounds = LocalSGD(clients=Fraction(0.34), patience=Seconds(5)).start(frozenset("abc"))
    rounds.begin(0.0)
    (first,) = picked(rounds, frozenset("abc"))
    rounds.sent(first)
    assert rounds.tick(5) == []
    (second,) = picked(rounds, frozenset("abc")) - {first}
    rounds.sent(second)
    assert rounds.arrive(first, first, 7) is None and rounds.holds(first)
    assert rounds.arrive(second, second, 8) == [first, second]
    with pytest.raises(WireError, match="too late"):
        rounds.arrive(first, first, 9)


def test_a_fleet_slower_than_patience_makes_its_steps_together() -> None:
    rounds = LocalSGD(patience=Seconds(5)).start(ALL)
    rounds.begin(0.0)
    for begun in (0.0, 7.0, 14.0):
        for node in picked(rounds, ALL):
            rounds.sent(node)
        assert rounds.tick(begun + 5) == []  # nobody has finished
        assert arrive(rounds, *NODES, now=begun + 7) == NODES


def test_of_a_slow_fleet_the_dead_hold_up_one_round_only() -> None:
    rounds = LocalSGD(patience=Seconds(5)).start(ALL)
    rounds.begin(0.0)
    for node in NODES:
        rounds.sent(node)
    assert rounds.tick(5) == []
    for node in "abc":  # d died with the model
        assert rounds.arrive(node, node, 7) is None
    assert rounds.tick(10) == ["a", "b", "c"]
    for node in "abc":
        rounds.sent(node)
    assert rounds.tick(15) == []
    assert arrive(rounds, *"abc", now=17) == ["a", "b", "c"]


def test_who_fails_is_not_waited_for_and_gets_no_model_until_the_next_round() -> None:
    rounds = LocalSGD().start(frozenset("abc"))
    rounds.begin(0.0)
    for node in "abc":
        rounds.sent(node)
    assert rounds.failed("a", 1) is None and rounds.holds("a")
    assert rounds.arrive("b", "b", 1) is None
    assert rounds.failed("c", 1) == ["b"]
    assert picked(rounds, frozenset("abc")) == {*"abc"}
    assert rounds.failed("a", 2) is None  # it has no model that it could fail on


def test_a_round_in_which_all_fail_is_over_at_once() -> None:
    rounds = LocalSGD().start(frozenset("ab"))
    rounds.begin(0.0)
    for node in "ab":
        rounds.sent(node)
    assert rounds.failed("a", 1) is None
    assert rounds.failed("b", 1) == [] and rounds.releases == 1


def test_the_dead_do_not_take_the_place_of_the_living() -> None:
    """Half of the fleet is gone: once that is known, each round has its two all the same."""
    rounds = FedAvg(Fraction(0.1), patience=Seconds(5)).start(CROWD)
    dead, now, waited = frozenset(map(str, range(0, 20, 2))), 0.0, 0
    rounds.begin(now)
    for _ in range(200):
        alive = picked(rounds) - dead
        if play(rounds, alive, now) if alive else None:
            assert len(alive) == 2
            continue
        now = rounds.deadline() or 0.0
        rounds.tick(now)
        waited += 1
    assert waited <= len(dead)
    assert len(picked(rounds) - dead) == 2


def test_what_counts_for_how_much() -> None:
    examples = {"a": 30, "b": 10}
    assert FedAvg().start(frozenset("ab"), 0, examples).weights == examples
    assert LocalSGD().start(frozenset("ab"), 0, examples).weights is None


def test_how_far_a_device_goes_alone() -> None:
    assert synchronization.local_training(Barrier(), 0.1) == LocalTraining(0.1)
    assert synchronization.local_training(FedAvg(epochs=5), 0.1) == LocalTraining(0.1, epochs=5)
    local_sgd = LocalSGD(steps=8, local_rate=0.3)
    assert synchronization.local_training(local_sgd, 0.1) == LocalTraining(0.3, steps=8)
    assert LocalTraining(0.1).batches(600, 10) == 1
    assert LocalTraining(0.1, epochs=5).batches(601, 10) == 305


@pytest.mark.parametrize(
    "fields, complaint",
    [
        (
            {"kind": "bounded", "bound": -1},
            "bound: -1 is too small: write a whole number from 0 up",
        ),
        ({"kind": "bounded", "patience": 0.0}, "write a time above 0s"),
        (
            {"kind": "fedavg", "clients": 0.5, "patience": 1e-6},
            "patience is 1us: write 1ms or more",
        ),
        (
            {"kind": "softsync", "splits": 0},
            "splits: 0 is too small: write a whole number from 1 up",
        ),
        ({"kind": "fedavg", "clients": 0.0}, "write a share above 0% and up to 100%"),
        ({"kind": "fedavg", "epochs": 0}, "epochs: 0 is too small: write a whole number"),
        ({"kind": "fedavg", "local_rate": 0.0}, "local_rate is 0.0: write a number above 0"),
        (
            {"kind": "local-sgd", "steps": 0},
            "steps: 0 is too small: write a whole number from 1 up",
        ),
        ({"kind": "local-sgd", "patience": float("inf")}, "write a time above 0s"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        synchronization.make(fields)
