"""The papers' algorithms by name, and the identities that tie them to each other."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.codecs import Dense, EncoderContext, SignSGD, TopK, encoder
from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.modulation import Constant, PerParameter, Staleness
from emulator.optimizers import SGD, Adam, Sign
from emulator.scenario.algorithms import ALGORITHMS, Algorithm, name_of
from emulator.synchronization import Asynchronous, Barrier
from emulator.units import Fraction
from emulator.vectors import Vector

LAYOUT = Layout(tuple(Variable(f"v{i}", (size,), "dense", i) for i, size in enumerate((24, 5, 1))))
WORKERS = 4

ONE = TopK(Fraction.parse("1%"))
WHOLE = TopK(Fraction.parse("100%"))


@pytest.mark.parametrize(
    "name, codec, modulation",
    [
        ("asgd", Dense(), Constant()),
        ("ada-sgd", Dense(), Staleness()),
        ("comp-asgd", ONE, Constant()),
        ("adacomp", ONE, PerParameter()),
    ],
)
def test_a_name_and_its_parts(
    name: str, codec: Dense | TopK, modulation: Constant | PerParameter | Staleness
) -> None:
    algorithm = ALGORITHMS[name]
    assert algorithm.codec == codec
    assert algorithm.modulation == modulation
    assert algorithm.synchronization == Asynchronous()
    assert not algorithm.error_feedback
    assert algorithm.about and algorithm.paper
    assert name_of(codec, modulation, Asynchronous(), False) == name
    fed_back = {"comp-asgd": "topk-ef", "adacomp": "adacomp-ef"}
    assert name_of(codec, modulation, Asynchronous(), True) == fed_back.get(name)
    assert name_of(codec, modulation, Barrier(), False) == ("bsp" if name == "asgd" else None)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_name_is_for_one(name: str) -> None:
    item = ALGORITHMS[name]
    parts = (item.codec, item.modulation, item.synchronization, item.error_feedback)
    assert name_of(*parts, item.optimizer) == name
    assert item.about and item.paper
    assert encoder(
        item.codec, EncoderContext(LAYOUT, np.random.default_rng(0)), item.error_feedback
    )


def test_an_optimizer_is_part_of_a_name_only_where_the_paper_has_one() -> None:
    assert name_of(Dense(), Constant(), Asynchronous(), False, Adam()) == "asgd"
    assert name_of(SignSGD(), Constant(), Barrier(), False, Sign()) == "signsgd"
    assert name_of(SignSGD(), Constant(), Barrier(), False, SGD()) is None


# -- identities ------------------------------------------------------------------------------------


def train(algorithm: Algorithm, schedule: list[int], seed: int, *, zeros: bool) -> list[Vector]:
    """θ after each push: workers pull, push a noisy gradient of a quadratic, and pull again."""
    draws = np.random.default_rng(seed)
    target = draws.standard_normal(LAYOUT.size).astype(np.float32)
    model = Parameters(np.zeros(LAYOUT.size, np.float32), 0.3, algorithm.modulation.start(LAYOUT))
    place = EncoderContext(LAYOUT, np.random.default_rng(seed), WORKERS)
    workers = [encoder(algorithm.codec, place, algorithm.error_feedback) for _ in range(WORKERS)]
    pulled = [(0, model.snapshot())] * WORKERS
    thetas = []
    for worker in schedule:
        version, theta = pulled[worker]
        gradient = theta - target + draws.standard_normal(LAYOUT.size).astype(np.float32)
        if zeros:
            gradient[draws.random(LAYOUT.size) < 0.3] = 0
        else:
            gradient[gradient == 0] = 1
        update = algorithm.codec.decode(workers[worker].encode(gradient), LAYOUT)
        model.apply([(update, version)])
        pulled[worker] = (model.version, model.snapshot())
        model.forget(min(version for version, _ in pulled))
        thetas.append(model.theta.copy())
    return thetas


SCHEDULES = st.lists(st.integers(0, WORKERS - 1), max_size=40)


@pytest.mark.slow
@pytest.mark.parametrize(
    "one, other, workers, zeros",
    [
        pytest.param("comp-asgd", "asgd", WORKERS, True, id="comp-asgd(100%) = asgd"),
        pytest.param("adacomp", "ada-sgd", WORKERS, False, id="adacomp(100%) = ada-sgd"),
        pytest.param("adacomp", "comp-asgd", 1, True, id="one worker: adacomp = comp-asgd"),
    ],
)
@given(schedule=SCHEDULES, seed=st.integers(0, 2**16))
@settings(max_examples=60, deadline=None)
def test_identities_bit_for_bit(
    one: str, other: str, workers: int, zeros: bool, schedule: list[int], seed: int
) -> None:
    alone = workers == 1
    schedule = [0 if alone else worker for worker in schedule]
    first = replace(ALGORITHMS[one], codec=ONE if alone else WHOLE)
    left = train(first, schedule, seed, zeros=zeros)
    right = train(ALGORITHMS[other], schedule, seed, zeros=zeros)
    assert all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


def test_several_workers_do_make_a_difference() -> None:
    schedule = [0, 1, 2, 3] * 8
    names = ("asgd", "ada-sgd", "comp-asgd", "adacomp", "topk-ef", "adacomp-ef")
    thetas = {name: train(ALGORITHMS[name], schedule, 1, zeros=True)[-1] for name in names}
    assert len({theta.tobytes() for theta in thetas.values()}) == len(names)


def test_sparse_updates_are_less_stale_than_the_whole() -> None:
    """The mechanism of the paper: at 1 % most of a stale gradient is fresh."""
    draws = np.random.default_rng(2)
    layout = Layout((Variable("v", (10_000,), "dense", 0),))
    model = Parameters(np.zeros(10_000, np.float32), 0.1, PerParameter().start(layout))
    gradients = draws.standard_normal((100, 10_000)).astype(np.float32)
    pushes = [ONE.decode(ONE.encode(gradient, layout), layout) for gradient in gradients]
    divisors = [model.apply([(push, max(0, i - 50))])[0] for i, push in enumerate(pushes)]
    assert 1 <= np.mean(divisors[50:]) < 2
