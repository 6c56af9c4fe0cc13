"""Perceptrons in NumPy: their gradient is that of their loss, and TensorFlow's."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.layout import Layout, Variable
from emulator.learning import models
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.numpy import NumpyEvaluator, NumpyLearner
from emulator.learning.models import Model
from emulator.learning.models.mlp import mlp
from emulator.learning.models.task import Task
from tests.fakes.line_learner import Line
from tests.layers import ROOT
from tests.learning.learners.perceptron_batch import SMALL, batch

PERCEPTRONS = pytest.mark.parametrize(
    "name", ["digits-mlp", "mnist-mlp", "digits-softmax", "mnist-softmax"]
)


def loss64(model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """The mean cross-entropy in float64, written down once more."""
    parts = [theta[at].reshape(variable.shape) for variable, at in model.layout]
    out = x.astype(np.float64)
    for number, (weights, bias) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        out = out @ weights + bias
        if 2 * number + 2 < len(parts):
            out = np.where(out > 0, out, 0)
    return float(np.mean(np.log(np.exp(out).sum(1)) - out[np.arange(len(y)), y]))


@pytest.mark.parametrize("hidden", [(), (5,), (5, 4), (3, 3, 3)], ids=str)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 7))
def test_the_gradient_is_that_of_the_loss(hidden: tuple[int, ...], seed: int, size: int) -> None:
    model = mlp("any", Task("images", (2, 3), classes=3), hidden)
    x, y = batch(model, size, seed)
    theta = np.random.default_rng(seed).normal(size=model.layout.size).astype(np.float32)
    gradient, loss = NumpyLearner(model.layout).gradient(theta, x, y)
    exact, step = theta.astype(np.float64), 1e-6
    assert loss == pytest.approx(loss64(model, exact, x, y), rel=1e-5, abs=1e-6)
    assert gradient.dtype == np.float32 and gradient.shape == theta.shape
    for item in range(theta.size):
        aside = np.zeros(theta.size)
        aside[item] = step
        slope = loss64(model, exact + aside, x, y) - loss64(model, exact - aside, x, y)
        assert gradient[item] == pytest.approx(slope / (2 * step), rel=1e-3, abs=1e-4)


@PERCEPTRONS
def test_an_evaluation_counts_what_is_right_and_adds_up_losses(name: str) -> None:
    model = models.find(name)
    theta, (x, y) = model.initial(3), batch(model, 50)
    correct, loss = NumpyEvaluator(model.layout).evaluate(theta, x, y)
    assert loss / 50 == pytest.approx(loss64(model, theta.astype(np.float64), x, y), rel=1e-5)
    item = NumpyEvaluator(model.layout)
    parts = [item.evaluate(theta, x[i : i + 1], y[i : i + 1]) for i in range(50)]
    assert correct == sum(right for right, _ in parts)
    assert type(correct) is int and type(loss) is float


def test_it_learns() -> None:
    labels = np.arange(60, dtype=np.uint8) % 3
    images = np.zeros((60, 2, 3), np.uint8)
    images[np.arange(60), 0, labels] = 16
    x, y = Examples(images, labels, 16).batch(slice(None))
    learner, evaluator = NumpyLearner(SMALL.layout), NumpyEvaluator(SMALL.layout)
    theta = SMALL.initial(0)
    for _ in range(200):
        theta = theta - np.float32(0.5) * learner.gradient(theta, x, y)[0]
    correct, loss = evaluator.evaluate(theta, x, y)
    assert correct == 60 and loss < 6


@PERCEPTRONS
@pytest.mark.tensorflow
@pytest.mark.parametrize("size", [1, 10, 64])
def test_it_agrees_with_the_exported_graph(name: str, size: int) -> None:
    from emulator.learning.learners.export import exported
    from emulator.learning.learners.graph import GraphEvaluator, GraphLearner

    model, graph = models.find(name), exported(name)
    theta, (x, y) = model.initial(0), batch(model, size)
    ours, loss = NumpyLearner(model.layout).gradient(theta, x, y)
    theirs, expected = GraphLearner(graph).gradient(theta, x, y)
    assert loss == pytest.approx(expected, rel=1e-5)
    for variable, at in model.layout:
        apart = np.linalg.norm(ours[at] - theirs[at])
        assert apart <= 1e-5 * np.linalg.norm(theirs[at]), variable.name
    scored = NumpyEvaluator(model.layout).evaluate(theta, x, y)
    assert scored == pytest.approx(GraphEvaluator(graph).evaluate(theta, x, y), rel=1e-5)


@PERCEPTRONS
def test_the_same_bits_from_any_thread(name: str) -> None:
    model = models.find(name)
    theta, batches = model.initial(0), [batch(model, 10, seed) for seed in range(8)]
    alone = [NumpyLearner(model.layout).gradient(theta, x, y) for x, y in batches]

    def find(one: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, float]:
        return NumpyLearner(model.layout).gradient(theta, *one)

    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(find, batches))
    for (first, loss), (second, again) in zip(alone, together, strict=True):
        assert first.tobytes() == second.tobytes() and loss == again


HASHED = """
import hashlib
from emulator.learning.learners.numpy import NumpyLearner
from emulator.learning import models
from tests.learning.learners.perceptron_batch import batch
model = models.find("mnist-mlp")
gradient, _ = NumpyLearner(model.layout).gradient(model.initial(0), *batch(model, 10))
print(hashlib.sha256(gradient).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bits_on_any_number_of_cores() -> None:
    """OpenBLAS has as many threads as there are cores, or as its variable says."""
    said = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = [sys.executable, "-c", HASHED]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1


def test_what_goes_in_stays_as_it_is_and_what_comes_out_is_ones_own() -> None:
    learner, theta, (x, y) = NumpyLearner(SMALL.layout), SMALL.initial(0), batch(SMALL, 4)
    for array in (theta, x, y):
        array.flags.writeable = False  # as what the server sends
    first, _ = learner.gradient(theta, x, y)
    kept = first.copy()
    learner.gradient(theta, *batch(SMALL, 4, seed=1))
    assert np.array_equal(first, kept)


def test_what_is_not_finite_is_no_warning() -> None:
    theta = np.full(SMALL.layout.size, 3e38, np.float32)
    gradient, loss = NumpyLearner(SMALL.layout).gradient(theta, *batch(SMALL, 4))
    assert not np.isfinite(gradient).all() and not np.isfinite(loss)
    assert not np.isfinite(NumpyEvaluator(SMALL.layout).evaluate(theta, *batch(SMALL, 4))[1])
    theta = np.zeros(SMALL.layout.size, np.float32)
    theta[-3:] = 0, -2e38, -2e38  # finite losses with an infinite sum
    assert np.isinf(NumpyEvaluator(SMALL.layout).evaluate(theta, *batch(SMALL, 40))[1])


def layout(*variables: tuple[str, tuple[int, ...]]) -> Layout:
    return Layout(tuple(Variable("v", shape, kind, 0) for kind, shape in variables))


@pytest.mark.parametrize(
    "other",
    [
        models.find("mnist-cnn").layout,
        Line("any", size=20).layout,
        Layout(()),
        layout(("dense", (2, 3))),
        layout(("dense", (2, 3)), ("bias", (2,))),
        layout(("bias", (3,)), ("dense", (2, 3))),
        layout(("dense", (2, 3)), ("bias", (3,)), ("dense", (4, 2)), ("bias", (2,))),
        layout(("dense", (2, 3, 1)), ("bias", (3,))),
    ],
    ids=["cnn", "line", "nothing", "no bias", "bias of inputs", "bias first", "gap", "not flat"],
)
@pytest.mark.parametrize("cls", [NumpyLearner, NumpyEvaluator])
def test_another_network_is_refused(cls: type, other: Layout) -> None:
    with pytest.raises(ValueError, match=r"perceptrons only, mnist-mlp or .*softmax: take one"):
        cls(other)


def test_what_does_not_fit_is_refused() -> None:
    theta, (x, y) = SMALL.initial(0), batch(SMALL, 4)
    for wrong, said in (
        ((theta[:-1], x, y), r"theta has shape \(73,\), the model 74"),
        ((theta, x[:, :-1], y), r"x has shape \(4, 5\), not \(4, 6\)"),
        ((theta, x, y[:-1]), r"not \(3, 6\)"),
        ((theta, x, y - 5), "a label is not below 3"),
        ((theta, x, y + 3), "a label is not below 3"),
    ):
        for do in (NumpyLearner(SMALL.layout).gradient, NumpyEvaluator(SMALL.layout).evaluate):
            with pytest.raises(ValueError, match=said):
                do(*wrong)


def test_it_needs_no_tensorflow() -> None:
    code = "import sys, emulator.learning.learners.numpy\n"
    code += "print({'tensorflow', 'zmq'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
