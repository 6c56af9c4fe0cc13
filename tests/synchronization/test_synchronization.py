"""Who waits for whom: nothing is lost, nobody waits for ever."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import synchronization
from emulator.errors import WireError
from emulator.synchronization import (
    AnySynchronization,
    Asynchronous,
    Barrier,
    Bounded,
    FedAvg,
    LocalSGD,
    LocalTraining,
    Softsync,
)
from emulator.units import Fraction, Seconds

NODES = ["a", "b", "c", "d"]
ALL = frozenset(NODES)

TABLE = [
    pytest.param(Asynchronous(), id="asynchronous"),
    pytest.param(Barrier(), id="barrier"),
    pytest.param(Barrier(Fraction.parse("50%"), Seconds.parse("5s")), id="barrier-half"),
    pytest.param(Bounded(bound=0, patience=Seconds(5)), id="bounded-0"),
    pytest.param(Bounded(bound=2, patience=Seconds(5)), id="bounded-2"),
    pytest.param(Softsync(splits=2), id="softsync"),
    pytest.param(FedAvg(Fraction(0.5), patience=Seconds(5)), id="fedavg"),
    pytest.param(LocalSGD(steps=5, patience=Seconds(5)), id="local-sgd"),
]
BY_TABLE = pytest.mark.parametrize("policy", TABLE)


# -- laws ------------------------------------------------------------------------------------------


@BY_TABLE
@given(st.lists(st.tuples(st.sampled_from(NODES), st.floats(0, 20)), max_size=40))
@settings(max_examples=60, deadline=None)
def test_every_arrival_is_in_one_step(
    policy: AnySynchronization, events: list[tuple[str, float]]
) -> None:
    """Nodes that are held send nothing; the clock ticks when it was asked to."""
    synchronizer = policy.start(ALL)
    sent, stepped, now = [], [], 0.0
    synchronizer.begin(now)
    for number, (node, pause) in enumerate(events):
        while (due := synchronizer.deadline()) is not None and due <= now + pause:
            turn, now, pause = synchronizer.releases, due, now + pause - due
            assert synchronizer.tick(due - 0.001) is None
            stepped += synchronizer.tick(due) or []
            assert synchronizer.releases > turn
        now += pause
        if not synchronizer.holds(node):
            synchronizer.sent(node)
            sent.append(number)
            stepped += synchronizer.arrive(node, number, now) or []
    if isinstance(policy, Softsync):
        assert stepped == sent[: len(sent) // 2 * 2]
        return
    if (due := synchronizer.deadline()) is not None:
        stepped += synchronizer.tick(due) or []
    assert stepped == sent


@BY_TABLE
@given(st.lists(st.sampled_from(NODES), max_size=60))
@settings(max_examples=60, deadline=None)
def test_who_is_held_stays_so_until_the_turn(policy: AnySynchronization, pushes: list[str]) -> None:
    """And nobody waits for ever: while somebody is held there is a deadline, or one to wait for."""
    synchronizer = policy.start(ALL)
    synchronizer.begin(0.0)
    for number, node in enumerate(pushes):
        before = synchronizer.releases, {one for one in NODES if synchronizer.holds(one)}
        if node not in before[1]:
            synchronizer.sent(node)
            synchronizer.arrive(node, number, float(number))
        held = {one for one in NODES if synchronizer.holds(one)}
        if synchronizer.releases == before[0]:
            assert held >= before[1]
        assert not held or (synchronizer.deadline() is not None and held < ALL)


@BY_TABLE
def test_travels_as_plain_data(policy: AnySynchronization) -> None:
    assert synchronization.make(synchronization.plain(policy)) == policy


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'bsp' is not asynchronous or barrier or"):
        synchronization.make({"kind": "bsp"})


# -- barrier ---------------------------------------------------------------------------------------


def arrive(synchronizer: Any, *nodes: str, now: float = 0.0) -> list[str] | None:
    """All but the last must be kept waiting; what comes of the last."""
    steps = [synchronizer.arrive(node, node, now) for node in nodes]
    assert not any(steps[:-1])
    return steps[-1]


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


# -- bounded ---------------------------------------------------------------------------------------


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


# -- softsync --------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits, workers, needed", [(1, 4, 4), (2, 5, 2), (4, 4, 1), (9, 4, 1)])
def test_a_step_takes_a_share_of_the_workers_gradients(
    splits: int, workers: int, needed: int
) -> None:
    collecting = Softsync(splits).start(frozenset(map(str, range(workers))))
    for _ in range(3):
        assert arrive(collecting, *["0"] * needed) == ["0"] * needed  # whoever sent them
        assert not collecting.holds("0")


# -- rounds ----------------------------------------------------------------------------------------

CROWD = frozenset(map(str, range(20)))


def picked(synchronizer: Any, members: frozenset[str] = CROWD) -> set[str]:
    return {node for node in members if not synchronizer.holds(node)}


def play(synchronizer: Any, nodes: set[str], now: float = 0.0) -> list[str] | None:
    """These get the model and send what they learnt; what comes of the last."""
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
        ({"kind": "bounded", "bound": -1}, "bound is -1: write a whole number from 0 up"),
        ({"kind": "bounded", "patience": 0.0}, "write a time above 0s"),
        (
            {"kind": "fedavg", "clients": 0.5, "patience": 1e-6},
            "patience is 1us: write 1ms or more",
        ),
        ({"kind": "softsync", "splits": 0}, "splits is 0: write a whole number from 1 up"),
        ({"kind": "fedavg", "clients": 0.0}, "write a share above 0% and up to 100%"),
        ({"kind": "fedavg", "epochs": 0}, "epochs is 0: write a whole number from 1 up"),
        ({"kind": "fedavg", "local_rate": 0.0}, "local_rate is 0.0: write a number above 0"),
        ({"kind": "local-sgd", "steps": 0}, "steps is 0: write a whole number from 1 up"),
        ({"kind": "local-sgd", "patience": float("inf")}, "write a time above 0s"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        synchronization.make(fields)
