"""Perceptrons cut between a device and the server, against the gradient of the whole."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.learning import models
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.numpy import NumpyLearner, NumpyServer, NumpyStages
from emulator.learning.learners.staged_learner import StagedLearner
from emulator.learning.models.mlp import mlp
from emulator.learning.models.task import Task
from tests.learning.learners.perceptron_batch import SMALL, batch


@settings(max_examples=25, deadline=None)
@given(
    hidden=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    rows=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_both_parts_give_the_whole_gradient_to_the_bit(
    hidden: list[int], rows: int, seed: int, data: st.DataObject
) -> None:
    model = mlp("any", Task("images", (2, 3), classes=3), hidden)
    cut = data.draw(st.integers(1, len(hidden)))
    theta = np.random.default_rng(seed).normal(size=model.layout.size).astype(np.float32)
    x, y = batch(model, rows, seed)
    expected, loss = NumpyLearner(model.layout).gradient(theta, x, y)
    device, server = NumpyStages(model.layout, cut), NumpyServer(model.layout, cut)
    before, behind = np.split(theta, [model.layout.part((1, cut)).size])

    device.begin(x, y)
    activations = device.forward(1, before)
    assert activations.size == rows * model.crossing(cut)
    answer = server.slopes(behind, activations, rows, y)
    gradient = device.backward(1, answer.activations)
    assert np.array_equal(np.concatenate([gradient, answer.parameters]), expected)
    assert answer.loss == loss
    device.begin(x, y)
    device.forward(1, before.copy())
    assert np.array_equal(device.backward(1, answer.activations), gradient)

    at_device, slopes = device.loss_at(server.logits(behind, activations, rows))
    local = server.slopes_of(behind, activations, rows, slopes)
    assert at_device == loss
    assert np.array_equal(local[0], answer.activations)
    assert np.array_equal(local[1], answer.parameters)


def test_the_slopes_are_those_of_the_loss() -> None:
    server, (x, y) = NumpyServer(SMALL.layout, 1), batch(SMALL, 4)
    theta = SMALL.initial(3)
    before, behind = np.split(theta, [SMALL.layout.part((1, 1)).size])
    device = NumpyStages(SMALL.layout, 1)
    device.begin(x, y)
    activations = device.forward(1, before)
    found = server.slopes(behind, activations, 4, y)
    for item in np.flatnonzero(activations):
        aside = np.zeros_like(activations)
        aside[item] = 1e-2
        ends = [server.slopes(behind, activations + way * aside, 4, y).loss for way in (1, -1)]
        assert found.activations[item] == pytest.approx((ends[0] - ends[1]) / 2e-2, abs=1e-3)


def test_wrong_sizes_and_labels_are_refused() -> None:
    device, server = NumpyStages(SMALL.layout, 1), NumpyServer(SMALL.layout, 1)
    theta, (x, y) = SMALL.initial(0), batch(SMALL, 4)
    before, behind = np.split(theta, [SMALL.layout.part((1, 1)).size])
    device.begin(x, y)
    with pytest.raises(ValueError, match="35 parameters"):
        device.forward(1, theta)
    activations = device.forward(1, before)
    with pytest.raises(ValueError, match="20 floats"):
        device.backward(1, activations[1:])
    with pytest.raises(ValueError, match="missing"):
        device.backward(1)
    for rows in (0, 3, 5):
        with pytest.raises(ValueError, match="floats"):
            server.slopes(behind, activations, rows, y[:1].repeat(rows))
    with pytest.raises(ValueError, match="4 labels, not 3"):
        server.slopes(behind, activations, 4, y[1:])
    for label in (-1, 3):
        wrong = np.append(y[1:], np.int32(label))
        with pytest.raises(ValueError, match="label"):
            server.slopes(behind, activations, 4, wrong)
        device.begin(x, wrong)
        with pytest.raises(ValueError, match="label"):
            device.loss_at(server.logits(behind, activations, 4))
    with pytest.raises(ValueError, match="39 parameters"):
        server.logits(theta, activations, 4)
    with pytest.raises(ValueError, match="12 floats"):
        server.slopes_of(behind, activations, 4, activations)
    for part in (NumpyStages, NumpyServer):
        for cut in (0, 3):
            with pytest.raises(ValueError, match="from 1 to 2"):
                part(SMALL.layout, cut)
        with pytest.raises(ValueError, match="NumPy learns perceptrons only"):
            part(models.find("mnist-cnn").layout, 2)


def learner() -> StagedLearner:
    rng = np.random.default_rng(0)
    images = Examples(
        rng.integers(0, 17, (9, 2, 3), np.uint8), np.arange(9, dtype=np.uint8) % 3, 16
    )
    return StagedLearner(NumpyStages(SMALL.layout, 1), Batches(images, 4, "a"))


def test_passes_come_in_order() -> None:
    part, weights = learner(), SMALL.initial(0)[:35]
    with pytest.raises(ValueError, match="cannot follow"):
        part.backward_from(np.zeros(20, np.float32))
    with pytest.raises(ValueError, match="without a forward pass"):
        part.loss_at(np.zeros(12, np.float32))
    sent = part.activate(weights)
    assert (sent.rows, sent.labels.shape, sent.activations.shape) == (4, (4,), (20,))
    part.loss_at(np.zeros(12, np.float32))
    assert part.backward_from(np.ones(20, np.float32)).shape == (35,)
    with pytest.raises(ValueError, match="cannot follow"):
        part.backward_from(np.ones(20, np.float32))


def test_an_abandoned_iteration_leaves_no_trace() -> None:
    one, other, weights = learner(), learner(), SMALL.initial(0)[:35]
    slopes = np.random.default_rng(1).normal(size=20).astype(np.float32)
    one.activate(weights)
    one.activate(weights)
    gradients = []
    for _ in range(2):
        other.activate(weights)
        gradients.append(other.backward_from(slopes))
    assert np.array_equal(one.backward_from(slopes), gradients[1])
    assert not np.array_equal(*gradients)
