"""Layers computed apart from each other, against the gradient of the whole graph."""

import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from emulator.layout import Segment
from emulator.learning import models
from emulator.learning.datasets import shard
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.device import DeviceLearner, staged_learner
from emulator.learning.learners.export import exported
from emulator.learning.learners.graph import GraphLearner
from emulator.learning.learners.numpy import NumpyLearner, NumpyStages
from emulator.learning.learners.staged_graph import StagedGraph
from emulator.learning.learners.staged_learner import StagedLearner, StagedNetwork
from emulator.learning.learners.stages import Stage, unread_after
from emulator.learning.models import MODELS, Model
from tests.learning.learners.layered_models import DIGITS, KNOTTED, batch, examples


def iteration(
    network: StagedNetwork, theta: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, float]:
    """The gradient, layer by layer, and the loss."""
    places = network.layout.layers
    network.begin(x, y)
    for layer, place in enumerate(places, 1):
        assert math.isnan(network.loss)
        network.forward(layer, theta[place])
    parts = [network.backward(layer) for layer in range(len(places), 0, -1)]
    return np.concatenate(parts[::-1]), network.loss


def segmented(
    learner: StagedLearner, theta: np.ndarray, model: Model, segments: list[Segment]
) -> tuple[np.ndarray, float]:
    """The gradient in `segments`, first layers first, and the loss."""
    learner.begin()
    for segment in segments:
        seconds = learner.forward(segment, theta[model.layout.place(segment)])
        assert len(seconds) == segment[1] - segment[0] + 1 and min(seconds) > 0
    gradient = np.full_like(theta, np.nan)
    for segment in reversed(segments):
        part, seconds = learner.backward(segment)
        assert len(seconds) == segment[1] - segment[0] + 1 and min(seconds) > 0
        gradient[model.layout.place(segment)] = part
    return gradient, learner.loss


def cuts(count: int, rng: np.random.Generator) -> list[Segment]:
    """Random segments of `count` layers, first layers first."""
    ends = [0, *(end for end in range(1, count) if rng.random() < 0.5), count]
    return [(first + 1, last) for first, last in pairwise(ends)]


@pytest.fixture(params=["numpy", pytest.param("graph", marks=pytest.mark.tensorflow)])
def digits(request: pytest.FixtureRequest) -> Iterator[NumpyStages | StagedGraph]:
    if request.param == "numpy":
        yield NumpyStages(DIGITS.layout)
    else:
        network = StagedGraph(exported("digits-mlp"))
        yield network
        network.close()


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("size", [1, 10, 64])
def test_layers_apart_give_the_whole_gradient_to_the_bit(name: str, size: int) -> None:
    model, folder = models.find(name), exported(name)
    whole, network = GraphLearner(folder), StagedGraph(folder)
    for seed in range(2):  # the second iteration finds the first one's memory
        theta, (x, y) = model.initial(seed), batch(model, size, seed)
        expected, loss = whole.gradient(theta, x, y)
        gradient, found = iteration(network, theta, x, y)
        assert np.array_equal(gradient, expected) and found == loss
    whole.close()
    network.close()


@pytest.mark.tensorflow
def test_skips_and_shared_weights_cross_the_layers(tmp_path: Path) -> None:
    """The sums of three gradients may be in another order than the whole graph's."""
    from emulator.learning.learners.tensorflow.graph_export import export
    from emulator.learning.learners.tensorflow.networks import zoo_network

    export(zoo_network(KNOTTED), tmp_path)
    whole, network = GraphLearner(tmp_path), StagedGraph(tmp_path)
    theta, (x, y) = KNOTTED.initial(0), batch(KNOTTED, 10)
    expected, loss = whole.gradient(theta, x, y)
    gradient, found = iteration(network, theta, x, y)
    assert found == loss
    for _, place in KNOTTED.layout:
        apart = np.linalg.norm(gradient[place] - expected[place])
        assert apart <= 1e-6 * np.linalg.norm(expected[place])
        assert np.linalg.norm(expected[place]) > 0


def test_a_perceptrons_layers_give_the_whole_gradient_to_the_bit() -> None:
    network, whole = NumpyStages(DIGITS.layout), NumpyLearner(DIGITS.layout)
    for seed in range(3):
        theta, (x, y) = DIGITS.initial(seed), batch(DIGITS, 10, seed)
        expected, loss = whole.gradient(theta, x, y)
        gradient, found = iteration(network, theta, x, y)
        assert np.array_equal(gradient, expected) and found == loss


def test_a_gradient_outlives_the_next_iteration(digits: StagedNetwork) -> None:
    theta = DIGITS.initial(0)
    digits.begin(*batch(DIGITS, 10))
    for layer, place in enumerate(DIGITS.layout.layers, 1):
        digits.forward(layer, theta[place])
    kept = [digits.backward(layer) for layer in (3, 2, 1)]
    copies = [part.copy() for part in kept]
    for seed in range(1, 9):
        iteration(digits, DIGITS.initial(seed), *batch(DIGITS, 10, seed))
    assert all(map(np.array_equal, kept, copies))


def test_an_iteration_that_does_not_end_leaves_no_trace(digits: StagedNetwork) -> None:
    theta, (x, y) = DIGITS.initial(0), batch(DIGITS, 10)
    expected, loss = iteration(digits, theta, x, y)
    places = DIGITS.layout.layers
    for forward, backward in ((0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2)):
        digits.begin(*batch(DIGITS, 20, seed=1))
        for layer in range(1, forward + 1):
            digits.forward(layer, DIGITS.initial(1)[places[layer - 1]])
        for layer in range(3, 3 - backward, -1):
            digits.backward(layer)
        gradient, found = iteration(digits, theta, x, y)
        assert np.array_equal(gradient, expected) and found == loss


def test_layers_come_in_order_and_once(digits: StagedNetwork) -> None:
    theta, places = DIGITS.initial(0), DIGITS.layout.layers
    digits.begin(*batch(DIGITS, 10))
    for wrong in (2, 3):
        with pytest.raises(ValueError, match="follow"):
            digits.forward(wrong, theta[places[wrong - 1]])
    with pytest.raises(ValueError, match="follow"):
        digits.backward(3)
    for layer, place in enumerate(places, 1):
        digits.forward(layer, theta[place])
        with pytest.raises(ValueError, match="follow"):
            digits.forward(layer, theta[place])
    for layer in (3, 2, 1):
        for wrong in {1, 2, 3} - {layer}:
            with pytest.raises(ValueError, match="follow"):
                digits.backward(wrong)
        digits.backward(layer)


@pytest.mark.tensorflow
def test_parameters_of_a_wrong_number_are_refused() -> None:
    network, places = StagedGraph(exported("digits-mlp")), DIGITS.layout.layers
    theta = DIGITS.initial(0)
    network.begin(*batch(DIGITS, 10))
    for wrong in (theta[places[0]][:-1], theta[places[1]], theta):
        with pytest.raises(ValueError, match="layer 1 has 8320 parameters"):
            network.forward(1, wrong)
    learner = StagedLearner(network, Batches(examples(DIGITS, 40), 10, "a"))
    learner.begin()
    with pytest.raises(ValueError, match="17225"):
        learner.forward((1, 3), theta[:-1])


def test_segments_of_any_cut_give_the_same_gradient(digits: StagedNetwork) -> None:
    rng, theta = np.random.default_rng(0), DIGITS.initial(0)
    served = Batches(examples(DIGITS, 40), 10, "a")
    learner = StagedLearner(digits, Batches(examples(DIGITS, 40), 10, "a"))
    other = NumpyStages(DIGITS.layout)
    for _ in range(8):
        expected, loss = iteration(other, theta, *next(served))
        gradient, found = segmented(learner, theta, DIGITS, cuts(3, rng))
        assert np.allclose(gradient, expected, rtol=1e-4, atol=1e-6)
        assert found == pytest.approx(loss, rel=1e-5)


@pytest.mark.tensorflow
def test_a_device_may_change_between_the_whole_graph_and_its_layers(tmp_path: Path) -> None:
    """Both draw from one order of mini-batches."""
    folder, rng, theta = exported("digits-mlp"), np.random.default_rng(0), DIGITS.initial(0)
    shard.write(tmp_path, examples(DIGITS, 45))
    lone = DeviceLearner(folder, Batches(shard.read(tmp_path), 10, "a"))
    shared = Batches(shard.read(tmp_path), 10, "a")
    whole, layered = DeviceLearner(folder, shared), staged_learner(folder, shared)
    for number in range(12):
        expected, loss = lone.gradient(theta)
        if number % 3:
            gradient, found = segmented(layered, theta, DIGITS, cuts(3, rng))
        else:
            gradient, found = whole.gradient(theta)
        assert np.array_equal(gradient, expected) and found == loss


@pytest.mark.tensorflow
def test_abandoned_iterations_leave_no_memory_behind() -> None:
    network, model = StagedGraph(exported("mnist-cnn")), models.find("mnist-cnn")
    theta, (x, y) = model.initial(0), batch(model, 64)

    def private() -> int:
        with open("/proc/self/smaps_rollup") as lines:
            rows = dict(line.split()[:2] for line in lines if line.startswith("Private"))
        return sum(map(int, rows.values()))

    def abandon(times: int) -> int:
        for _ in range(times):
            network.begin(x, y)
            for layer, place in enumerate(model.layout.layers, 1):
                network.forward(layer, theta[place])
            network.backward(4)
        return private()

    few = abandon(5)
    assert abandon(30) < few + 30 * 1024  # KiB; the activations of one take 13 MiB
    network.close()


def test_a_tensor_is_kept_until_its_last_reader() -> None:
    stages = [
        Stage(("x:0",), ("a:0", "b:0")),
        Stage(("theta:0", "a:0"), ("loss:0",)),
        Stage(("b:0", "x:0"), ("gradient:0",)),
    ]
    assert [sorted(names) for names in unread_after(stages)] == [
        [],
        ["a:0", "loss:0"],
        ["b:0", "gradient:0"],
    ]
