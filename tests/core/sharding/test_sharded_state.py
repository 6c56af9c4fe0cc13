"""Steps at several shards: the model of one server, whatever divides, moves and forgets."""

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from emulator.aggregation import Mean, Median, TrimmedMean
from emulator.core.server.parameters import Parameters
from emulator.core.sharding.server_shards import balanced_shards
from emulator.core.sharding.sharded_state import ShardedState
from emulator.layout import Layout, Variable
from emulator.modulation import Constant, PerParameter, Staleness
from emulator.optimizers import SGD, Adam, Momentum
from emulator.plugins.stateful import copied
from emulator.units import Fraction
from emulator.vectors import Gradient

SIZES = (40, 3, 25, 60, 8)
LAYOUT = Layout(tuple(Variable(f"v{n}", (size,), "dense", n) for n, size in enumerate(SIZES)))
RATE = 0.1


def one(*parts: Any, layout: Layout = LAYOUT, place: slice = slice(None)) -> Parameters:
    modulation, optimizer, aggregation = parts
    initial = np.random.default_rng(5).standard_normal(LAYOUT.size).astype(np.float32)[place]
    modulator = modulation.start(layout)
    return Parameters(initial, RATE, modulator, optimizer=optimizer, aggregation=aggregation)


def sharded(count: int, *parts: Any) -> ShardedState:
    segments = balanced_shards(LAYOUT, count).segments
    return ShardedState(
        [one(*parts, layout=LAYOUT.part(s), place=LAYOUT.place(s)) for s in segments]
    )


def gradient(rng: np.random.Generator, dice: Random) -> Gradient:
    values = rng.standard_normal(LAYOUT.size).astype(np.float32)
    if dice.random() < 0.3:
        return Gradient(values)
    # often none in some shard
    kept = np.flatnonzero(rng.random(LAYOUT.size) < dice.choice([0.0, 0.02, 0.3]))
    return Gradient(values[kept], kept.astype(np.uint32))


def stepped(states: list[Any], seed: int, steps: int = 30) -> None:
    """Make the same steps in all `states`, whose divisors have to be equal."""
    rng, dice = np.random.default_rng(seed), Random(seed)
    for _ in range(steps):
        version = states[0].version
        arrivals = [
            (gradient(rng, dice), dice.randint(max(0, version - 6), version))
            for _ in range(dice.randint(1, 3))
        ]
        weights = [dice.randint(1, 4) for _ in arrivals] if dice.random() < 0.5 else None
        divisors = [state.apply(arrivals, weights) for state in states]
        for others in divisors[1:]:
            np.testing.assert_allclose(others, divisors[0], rtol=1e-6)
        assert len({state.version for state in states}) == 1


@pytest.mark.parametrize("aggregation", [Mean(), Median(), TrimmedMean(trim=Fraction(0.3))])
@pytest.mark.parametrize("optimizer", [SGD(), Momentum(momentum=0.9), Adam()])
@pytest.mark.parametrize("modulation", [Constant(), Staleness(), PerParameter()])
def test_any_number_of_shards_has_the_model_of_one_server(
    modulation: Any, optimizer: Any, aggregation: Any
) -> None:
    """To the bit: a modulation divides by the same σ at every shard."""
    parts = modulation, optimizer, aggregation
    states = [one(*parts), *(sharded(count, *parts) for count in (1, 2, 3, 5))]
    stepped(states, seed=1)
    whole = states[0]
    for state in states[1:]:
        assert state.theta.tobytes() == whole.theta.tobytes()
        assert state.oldest == whole.oldest
        for name, array in whole.optimizer_state().arrays.items():
            assert state.optimizer_state().arrays[name].tobytes() == array.tobytes(), name


def test_a_snapshot_is_of_one_version_and_stays() -> None:
    state = sharded(3, Constant(), SGD(), Mean())
    first = state.snapshot()
    assert state.snapshot() is first
    assert not first.flags.writeable
    kept = first.copy()
    stepped([state], seed=2, steps=3)
    assert first.tobytes() == kept.tobytes()
    assert state.snapshot().tobytes() != kept.tobytes()


@pytest.mark.parametrize(("modulation", "optimizer"), [*product([PerParameter()], [SGD(), Adam()])])
def test_a_state_comes_back_with_every_shard(modulation: Any, optimizer: Any) -> None:
    parts = modulation, optimizer, Mean()
    state = sharded(3, *parts)
    stepped([state], seed=3)
    other = sharded(3, *parts)
    other.restore(copied(state.state()))
    assert other.theta.tobytes() == state.theta.tobytes()
    stepped([state, other], seed=4)
    assert other.theta.tobytes() == state.theta.tobytes()


def test_each_shard_forgets_what_no_node_needs() -> None:
    state = sharded(2, PerParameter(), SGD(), Mean())
    for _ in range(20):
        state.apply([(Gradient(np.ones(LAYOUT.size, np.float32)), state.version)])
    state.forget(state.version, iter([state.version]))
    assert {part.oldest for part in state.parts} == {state.oldest}
