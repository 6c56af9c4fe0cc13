"""What the server makes of a mean gradient, against the papers' recurrences in plain Python."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import optimizers
from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.modulation import Staleness
from emulator.optimizers import SGD, Adam, AnyOptimizer, Momentum, Sign
from emulator.optimizers.base import FLUSH_EVERY, Modulated
from emulator.vectors import Gradient, Vector
from tests.optimizers.optimizer_table import RATE, SIZE, TABLE, WITH_SIGN

LAYOUT = Layout((Variable("v", (SIZE,), "dense", 0),))


STEPS = st.lists(st.lists(st.integers(0, SIZE - 1), unique=True).map(sorted), max_size=12)


def sent(touched: Sequence[int], dice: np.random.Generator, dense: bool) -> Gradient:
    values = dice.standard_normal(len(touched)).astype(np.float32)
    sparse = Gradient(values, np.array(touched, np.uint32))
    return Gradient(whole(sparse)) if dense else sparse


def whole(gradient: Gradient) -> Vector:
    if gradient.indices is None:
        return gradient.values
    spread = np.zeros(SIZE, np.float32)
    spread[gradient.indices] = gradient.values
    return spread


@pytest.mark.mostly_slow
@pytest.mark.parametrize("optimizer, reference", WITH_SIGN)
@given(steps=STEPS, seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_steps_are_the_papers(
    optimizer: AnyOptimizer, reference: object, steps: list[list[int]], seed: int
) -> None:
    dice = np.random.default_rng(seed)
    gradients = [sent(touched, dice, seed % 2 == 0) for touched in steps]
    theta, descent = np.zeros(SIZE, np.float32), optimizer.start(SIZE, RATE)
    for gradient in gradients:
        descent.step(theta, [Modulated(gradient, 1.0, np.float32(1))])
    expected = reference(optimizer, [*map(whole, gradients)])  # type: ignore[operator]
    assert theta == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("optimizer, reference", TABLE)
def test_what_goes_in_is_the_modulated_mean_of_the_step(
    optimizer: AnyOptimizer, reference: object
) -> None:
    """Of a fresh gradient that weighs 3, and one that is two steps old and weighs 1."""
    dice = np.random.default_rng(4)
    model = Parameters(
        np.zeros(SIZE, np.float32), RATE, Staleness().start(LAYOUT), optimizer=optimizer
    )
    first, second, fresh, old = (sent(range(SIZE), dice, True) for _ in range(4))
    model.apply([(first, 0)])
    model.apply([(second, 1)])
    assert model.apply(
        [(fresh, 2), (Gradient(old.values[:2], np.arange(2, dtype="u4")), 0)], [3, 1]
    ) == [1, 2]
    old.values[2:] = 0
    mean = 0.75 * fresh.values + 0.25 * old.values / 2
    expected = reference(optimizer, [first.values, second.values, mean])  # type: ignore[operator]
    assert model.theta == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_no_momentum_is_sgd() -> None:
    dice = np.random.default_rng(7)
    thetas = np.zeros((2, SIZE), np.float32)
    both = [SGD().start(SIZE, RATE), Momentum(0.0).start(SIZE, RATE)]
    for _ in range(100):
        gradient = sent(range(SIZE), dice, True)
        for descent, theta in zip(both, thetas, strict=True):
            descent.step(theta, [Modulated(gradient, 1.0, np.float32(1))])
    assert np.array_equal(*thetas)


@pytest.mark.parametrize("optimizer", [Momentum(), Adam()])
def test_what_is_not_touched_decays_to_zero_and_not_to_denormals(optimizer: AnyOptimizer) -> None:
    """With which some processors compute a hundred times slower, for ever."""
    descent, theta = optimizer.start(2, RATE), np.zeros(2, np.float32)
    once = Gradient(np.ones(1, np.float32), np.zeros(1, np.uint32))
    often = Gradient(np.ones(1, np.float32), np.ones(1, np.uint32))
    descent.step(theta, [Modulated(once, 1.0, np.float32(1))])
    for _ in range(1200 + FLUSH_EVERY):
        descent.step(theta, [Modulated(often, 1.0, np.float32(1))])
    kept = vars(descent)["_speed" if isinstance(optimizer, Momentum) else "_first"]
    assert kept[0] == 0 and kept[1] > 0


@pytest.mark.parametrize("optimizer", [row.values[0] for row in WITH_SIGN])
def test_travels_as_plain_data(optimizer: AnyOptimizer) -> None:
    assert optimizers.make(optimizers.plain(optimizer)) == optimizer


@pytest.mark.parametrize(
    "fields, complaint",
    [
        ({"kind": "momentum", "momentum": 1.0}, "momentum is 1: write a number between -1 and 1"),
        ({"kind": "adam", "beta1": 1.0}, "beta1 is 1: write a number from 0 to below 1"),
        ({"kind": "adam", "beta2": -0.1}, "beta2 is -0.1: write a number from 0 to below 1"),
        ({"kind": "adam", "epsilon": 0.0}, "epsilon is 0: write a number from 1e-30 to 1"),
        ({"kind": "lion"}, "'lion' is not sgd or momentum or adam"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        optimizers.make(fields)


def test_the_majority_decides_and_a_tie_nothing() -> None:
    held, theta = Sign().start(3, 0.5), np.zeros(3, np.float32)
    votes = [[1, 1, -1], [1, -1, -1], [-1, 1, -1], [1, -1, 1]]
    step = [Modulated(Gradient(np.array(vote, np.float32)), 0.25, np.float32(7)) for vote in votes]
    held.step(theta, step)
    assert theta.tolist() == [-0.5, 0, 0.5]
    some = Gradient(np.array([-3], np.float32), np.array([1], np.uint32))
    held.step(theta, [Modulated(some, 1.0, np.float32(1))])
    assert theta.tolist() == [-0.5, 0.5, 0.5]
