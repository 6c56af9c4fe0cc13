"""A group's step is that of its whole mini-batch, however the mini-batch is dealt."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.core.server.parameters import Parameters
from emulator.learning.learners.numpy import NumpyLearner
from emulator.learning.models.mlp import mlp
from emulator.learning.models.task import Task
from emulator.modulation import Constant
from emulator.synchronization import ComputeGroups
from emulator.synchronization.groups import dealt
from emulator.vectors import Gradient

MODEL = mlp("small", Task("images", (2, 3), classes=3), hidden=(5,))


@settings(max_examples=25, deadline=None)
@given(members=st.integers(1, 7), more=st.integers(0, 20), seed=st.integers(0, 2**32 - 1))
def test_gradients_normalised_by_the_groups_mini_batch_add_up_to_its_gradient(
    members: int, more: int, seed: int
) -> None:
    rng, batch = np.random.default_rng(seed), members + more
    x = rng.random((batch, 6), dtype=np.float32)
    y = rng.integers(0, 3, batch).astype(np.int32)
    theta = rng.normal(size=MODEL.layout.size).astype(np.float32)
    learner = NumpyLearner(MODEL.layout)
    whole = learner.gradient(theta, x, y)[0].copy()

    names = [f"d{number}" for number in range(members)]
    sizes = dict(zip(names, dealt(batch, members), strict=True))
    # a second group, so that the state is that of groups
    state = ComputeGroups(2).start(
        frozenset([*names, "else", "other"]),
        groups=[names, ["else", "other"]],
        batches={**sizes, "else": 1, "other": 1},
    )
    weights, start, step = state.weights, 0, None
    for name, size in sizes.items():
        part = slice(start, start + size)
        arrival = name, Gradient(learner.gradient(theta, x[part], y[part])[0].copy())
        step, start = state.arrive(name, arrival, 0.0), start + size
    assert step is not None and start == batch
    parameters = Parameters(theta, 0.5, Constant().start(MODEL.layout))
    shares = [weights[name] for name, _ in step] if weights else None
    parameters.apply([(gradient, 0) for _, gradient in step], shares)
    assert parameters.theta == pytest.approx(theta - np.float32(0.5) * whole, abs=2e-6)
