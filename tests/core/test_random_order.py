"""Whole fleets with events in random order: bounds, identities, and an end of every run."""

import json
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from emulator.codecs import TopK
from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.learning.learners.batches import Batches
from emulator.modulation import PerParameter, Staleness
from emulator.optimizers import Momentum
from emulator.synchronization import (
    AnySynchronization,
    Asynchronous,
    Barrier,
    Bounded,
    FedAvg,
    LocalSGD,
    Softsync,
)
from emulator.units import Fraction
from emulator.vectors import Gradient, Vector
from tests.fakes.core.random_order_fleet import LAYOUT, RATE, SIZE, Fleet, Squares
from tests.fakes.tried_examples import tried

ALIKE = dict.fromkeys("abcd", 12)
ALL = Fraction(1)

TABLE = [
    Asynchronous(),
    Barrier(),
    Barrier(Fraction(0.5)),
    Bounded(bound=0),
    Bounded(bound=2),
    Softsync(splits=2),
    FedAvg(Fraction(0.5), epochs=2),
    LocalSGD(steps=3),
]
BY_TABLE = pytest.mark.parametrize("policy", TABLE, ids=lambda policy: str(policy.kind))


def seeds(quick: int, all_of_them: int) -> list[Any]:
    """Mark all seeds but the first few as slow."""
    return [
        pytest.param(seed, marks=[] if seed < quick else pytest.mark.slow)
        for seed in range(all_of_them)
    ]


# -- everyone --------------------------------------------------------------------------------------


@pytest.mark.slow
@BY_TABLE
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_it_learns_in_any_order(policy: AnySynchronization, seed: int) -> None:
    fleet = Fleet(policy, {"a": 12, "b": 20, "c": 8, "d": 30}, updates=800, seed=seed)
    fleet.play()
    assert fleet.theta == pytest.approx(np.arange(SIZE), abs=0.3)
    assert b'"refused"' not in fleet.log.getvalue()


@pytest.mark.mostly_slow
@BY_TABLE
@tried(quick=5, slow=15, seed=st.integers(0, 10**6))
def test_crashes_hold_up_nobody_for_ever(policy: AnySynchronization, seed: int) -> None:
    """Devices die and boot at any moment. One device never does, so the run reaches the end."""
    dice = Random(seed)
    fleet = Fleet(policy, ALIKE, updates=60, seed=seed, codec=TopK(Fraction(0.3)))
    while fleet.server.zero is None:
        fleet.step()
    boots = Counter[str]()
    for _ in range(20_000):
        if fleet.server.over:
            break
        fleet.step()
        if dice.random() < 0.02:
            node = dice.choice("abc")
            if node in fleet.devices:
                fleet.kill(node)
            else:
                boots[node] += 1
                fleet.boot(node, boots[node])
    assert fleet.server.ended is not None and fleet.server.ended.reason == "updates"


# -- bounded: Ho et al., 2013 ----------------------------------------------------------------------


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("bound", [0, 1, 3])
@pytest.mark.parametrize("seed", seeds(3, 8))
def test_so_many_updates_at_most_between_a_pull_and_its_push(bound: int, seed: int) -> None:
    others = len(ALIKE) - 1
    since, clocks, worst = dict.fromkeys(ALIKE, 0), Counter(dict.fromkeys(ALIKE, 0)), 0

    def observe(event: str, node: str) -> None:
        nonlocal worst
        if event == "pull":
            since[node] = clocks.total()
            assert clocks[node] - min(clocks.values()) <= bound
            return
        worst = max(worst, clocks.total() - since[node])
        clocks[node] += 1

    Fleet(Bounded(bound), ALIKE, updates=600, seed=seed, observe=observe).play()
    assert 0 < worst <= (2 * bound + 1) * others
    assert max(clocks.values()) - min(clocks.values()) <= bound + 1


def test_a_large_bound_is_asynchronous() -> None:
    thetas = [
        played(policy, updates=200, seed=5, batch_size=3)
        for policy in (Bounded(bound=1000), Asynchronous(), Softsync(splits=4))
    ]
    assert np.array_equal(thetas[0], thetas[1]) and np.array_equal(thetas[0], thetas[2])
    assert not np.array_equal(thetas[0], played(Bounded(bound=0), updates=200, seed=5))


def played(policy: AnySynchronization, **options: Any) -> Vector:
    fleet = Fleet(policy, options.pop("examples", ALIKE), **options)
    fleet.play()
    return fleet.theta


# -- softsync: Zhang et al., 2016 ------------------------------------------------------------------


@pytest.mark.parametrize("splits", [1, 2, 3, 6])
def test_softsync_is_the_papers(splits: int) -> None:
    """θ(t+1) = θ(t) - 1/c Σ α/max(1, τ) g, where τ counts the steps since the gradient's own."""
    dice, workers = np.random.default_rng(splits), 6
    policy = Softsync(splits).start(frozenset(map(str, range(workers))))
    model = Parameters(np.zeros(SIZE, np.float32), RATE, Staleness().start(LAYOUT))
    theta, step, gathered = np.zeros(SIZE), 0, list[tuple[Vector, int]]()
    pulled = [(0, 0)] * workers  # version, step
    for who in dice.integers(0, workers, 300).tolist():
        gradient = dice.standard_normal(SIZE).astype(np.float32)
        version, known = pulled[who]
        gathered.append((gradient, step - known))
        arrivals = policy.arrive(str(who), (Gradient(gradient), version), 0.0)
        assert (arrivals is None) == (len(gathered) < workers // splits)
        if arrivals:
            divisors = model.apply(arrivals)
            assert divisors == [max(1, tau) for _, tau in gathered]
            change = [RATE / max(1, tau) * item for item, tau in gathered]
            theta -= np.mean(change, 0)
            step, gathered = step + 1, []
            model.forget(min(version for version, _ in pulled))
        pulled[who] = (model.version, step)
    assert model.theta == pytest.approx(theta, abs=1e-5)


def test_what_a_step_touches_it_touches_once() -> None:
    """So no parameter is staler than the model, even if several updates of a step touch it."""
    dice, layout = np.random.default_rng(3), Layout((Variable("v", (40,), "dense", 0),))
    modulator, touched = PerParameter().start(layout), list[set[int]]()
    versions = [0]
    for _ in range(60):
        parts = [set(dice.integers(0, 40, 6).tolist()) for _ in range(dice.integers(1, 5))]
        modulator.applied([sparse(part) for part in parts])
        touched.append(set[int]().union(*parts))
        versions.append(versions[-1] + len(parts))
        back = int(dice.integers(0, len(versions)))
        asked = sparse(set(range(0, 40, 3)))
        divisors = np.broadcast_to(modulator.divisor(asked, versions[back]), len(asked.values))
        expected = [max(1, sum(k in item for item in touched[back:])) for k in range(0, 40, 3)]
        assert divisors.tolist() == expected


def sparse(indices: set[int]) -> Gradient:
    return Gradient(np.ones(len(indices), np.float32), np.array(sorted(indices), np.uint32))


# -- rounds: McMahan et al., 2017, and Stich, 2019 -------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("codec", [None, TopK(Fraction(0.3))], ids=["dense", "topk"])
@pytest.mark.parametrize("optimizer", [None, Momentum()], ids=["sgd", "momentum"])
def test_one_local_step_by_all_is_a_barrier(seed: int, codec: Any, optimizer: Any) -> None:
    options = {"updates": 80, "seed": seed, "codec": codec, "optimizer": optimizer}
    unlike = {"a": 5, "b": 50, "c": 9, "d": 4}
    local = played(LocalSGD(steps=1), examples=unlike, **options)
    assert np.array_equal(local, played(Barrier(), examples=unlike, **options))


@pytest.mark.parametrize("seed", range(3))
def test_one_epoch_in_one_batch_by_all_is_fedsgd(seed: int) -> None:
    options: dict[str, Any] = {"updates": 80, "seed": seed, "batch_size": None}
    fedavg = played(FedAvg(clients=ALL, epochs=1), **options)
    assert fedavg == pytest.approx(played(Barrier(), **options), abs=1e-5)


@pytest.mark.parametrize("local_rate", [None, 0.02])
def test_a_round_leads_to_the_mean_of_the_clients_models(local_rate: float | None) -> None:
    """As algorithm 1 has it: each client walks by itself, then θ = Σ n_k/n θ_k."""
    examples = {"a": 10, "b": 30, "c": 7}
    fleet = Fleet(
        FedAvg(ALL, epochs=2, local_rate=local_rate), examples, updates=6, batch_size=4, seed=9
    )
    fleet.play()
    rate, theta = local_rate or RATE, np.zeros(SIZE)
    batches = {node: order(node, count) for node, count in examples.items()}
    for _ in range(2):
        models = []
        for node, count in examples.items():
            model = theta.copy()
            for which in batches[node].one_pass() + batches[node].one_pass():
                model -= rate * Squares(node, count).gradient(model.astype("f4"), which)[0]
            models.append(model)
        mean = np.average(models, axis=0, weights=[*examples.values()])
        theta += RATE / rate * (mean - theta)  # the rest is the server's own rate
    assert fleet.theta == pytest.approx(theta, abs=1e-4)


def order(node: str, count: int) -> Batches:
    return Batches(Squares(node, count), 4, f"9/{node}")  # type: ignore[arg-type]


def test_an_epoch_holds_every_example_once() -> None:
    batches = order("a", 10)
    for _ in range(3):
        parts = batches.one_pass()
        assert [len(part) for part in parts] == [4, 4, 2]
        assert sorted(np.concatenate(parts).tolist()) == list(range(10))


def test_with_one_client_the_server_is_where_the_client_went() -> None:
    """Bit for bit: what is sent is the sum of the gradients, not a difference that was rounded."""
    fleet = Fleet(LocalSGD(steps=7), {"a": 20}, updates=1, seed=9)
    went = np.zeros(SIZE, np.float32)
    total = np.zeros(SIZE, np.float32)
    batches = order("a", 20)
    for _ in range(7):
        total = total + Squares("a", 20).gradient(went, batches.draw())[0]
        went = np.zeros(SIZE, np.float32) - np.float32(RATE) * total
    fleet.play()
    assert np.array_equal(fleet.theta, went)


def test_only_the_drawn_get_the_model_and_each_round_is_one_step() -> None:
    rounds, now = [Counter[str]()], Counter[str]()

    def observe(event: str, node: str) -> None:
        if event == "pull":
            if fleet.server.version > 3 * (len(rounds) - 1):
                rounds.append(Counter())
            rounds[-1][node] += 1
        now[event] += 1

    nodes = dict.fromkeys("abcdefghij", 8)
    fleet = Fleet(FedAvg(Fraction(0.3)), nodes, updates=60, seed=2, observe=observe)
    fleet.play()
    assert len(rounds) == 20
    assert all(round.total() == len(round) == 3 for round in rounds)
    said = [json.loads(line) for line in fleet.log.getvalue().splitlines()]
    updates = [record for record in said if record["what"] == "update"]
    assert {record["staleness"] for record in updates} == {0}
    assert len({record["node"] for record in updates}) == 10


def test_a_fleet_whose_clients_all_diverge_ends_without_waiting() -> None:
    """Few clients are in a round, but diverged clients are counted over all rounds."""
    policy = FedAvg(Fraction(0.25), epochs=3, local_rate=1e20)
    fleet = Fleet(policy, dict.fromkeys("abcdefgh", 12), updates=500, seed=1)
    fleet.play()
    assert fleet.server.ended is not None and fleet.server.ended.reason == "diverged"
    assert fleet.now == 0 and fleet.server.version == 0
