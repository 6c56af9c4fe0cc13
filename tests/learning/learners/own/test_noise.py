"""Gradients through layers with noise, against NumPy and Keras, which draw the same noise."""

import json
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emulator
from emulator.core.assembly import WorkerAssembly
from emulator.core.plan import WorkerPlan
from emulator.learning import datasets
from emulator.learning.datasets.examples import Subset
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.device import DeviceLearner
from emulator.learning.learners.export import own_model, ready
from emulator.learning.learners.graph import GraphEvaluator, GraphLearner
from emulator.learning.models import OwnModel
from emulator.learning.models.own_model import ModelSource
from emulator.runs.data_split import split_data
from tests.learning.learners.own import noisy_model

pytestmark = pytest.mark.tensorflow

SEED = 7
SIZE = 6
RATES = {"spatial": 0.25, "dropout": 0.4, "gaussian": 0.2}
SCENARIO = f"""
name: noisy
seed: {SEED}
training: {{dataset: digits, model: '{noisy_model.__file__}:build', algorithm: asgd,
           batch_size: {SIZE}, learning_rate: 0.1}}
stop: {{updates: 12}}
virtual: {{step: 10ms, boot: 1s}}
devices: [{{name: home}}]
"""


@pytest.fixture(scope="module")
def model() -> OwnModel:
    model = own_model(ModelSource(f"{noisy_model.__file__}:build"))
    ready(model, SEED)
    return model


def batches(model: OwnModel, device: str = "home", examples: Any = None) -> Batches:
    """The mini-batches of `device`, as workers make them."""
    plan = WorkerPlan(seed=SEED, batch_size=SIZE, codec={"kind": "dense"}, noisy=model.noisy)
    examples = examples or datasets.load("digits").train
    return WorkerAssembly(plan, model.layout).batches(device, 0, examples)


def seeds(device: str, step: int) -> list[Any]:
    """The seed of each layer with noise: of the run, the device, its boot and its step."""
    digest = sha256(f"{SEED}/{device}/noise/0/{step}".encode()).digest()
    first, second = np.frombuffer(digest, "<u4", 2).astype(np.int64) >> 1
    return [np.array([first + 1_000_003 * rank, second]) for rank in (1, 2, 3, 4)]


def factors(device: str, step: int, size: int = SIZE) -> tuple[Any, ...]:
    """The noise of each layer, drawn by TensorFlow's generators without Keras."""
    import tensorflow as tf

    narrow = [seed % (2**31 - 2) for seed in seeds(device, step)]  # as Keras fits it into int32
    spatial = tf.random.stateless_uniform((size, 1, 8), narrow[0]).numpy() >= RATES["spatial"]
    dropped = tf.random.stateless_uniform((size, 16), narrow[1]).numpy() >= RATES["dropout"]
    added = 0.1 * tf.random.stateless_normal((size, 12), narrow[2]).numpy()
    scale = (RATES["gaussian"] / (1 - RATES["gaussian"])) ** 0.5
    times = 1 + scale * tf.random.stateless_normal((size, 12), narrow[3]).numpy()
    return (
        np.broadcast_to(spatial, (size, 8, 8)).reshape(size, 64) / (1 - RATES["spatial"]),
        dropped / (1 - RATES["dropout"]),
        added,
        times,
    )


def by_hand(model: OwnModel, theta: Any, x: Any, y: Any, noise: Any) -> tuple[Any, float]:
    """The gradient and the loss of the model in NumPy, in double precision; None: no noise."""
    first, second, added, times = noise or (1.0, 1.0, 0.0, 1.0)
    w1, b1, w2, b2, w3, b3 = (
        theta[place].reshape(variable.shape).astype(float) for variable, place in model.layout
    )
    inputs = x * first
    before = inputs @ w1 + b1
    hidden = before.clip(0) * second
    bent = np.tanh(hidden @ w2 + b2)
    last = (bent + added) * times
    logits = last @ w3 + b3
    odds = np.exp(logits - logits.max(1, keepdims=True))
    odds /= odds.sum(1, keepdims=True)
    rows = np.arange(len(y))
    loss = -np.log(odds[rows, y]).mean()
    odds[rows, y] -= 1
    d3 = odds / len(y)
    d2 = (d3 @ w3.T) * times * (1 - bent**2)
    d1 = (d2 @ w2.T) * second * (before > 0)
    slopes = (inputs.T @ d1, d1.sum(0), hidden.T @ d2, d2.sum(0), last.T @ d3, d3.sum(0))
    return np.concatenate([slope.ravel() for slope in slopes]), float(loss)


def test_a_devices_gradients_are_those_by_hand_with_the_same_noise(model: OwnModel) -> None:
    theta = model.initial(SEED)
    for device in ("home", "away"):
        learner = DeviceLearner(model.folder, batches(model, device))
        again = islice(batches(model, device), 3)
        for step, (x, y, _) in enumerate(again, 1):
            found, loss = learner.gradient(theta)
            true, true_loss = by_hand(model, theta, x, y, factors(device, step))
            assert np.linalg.norm(found - true) <= 1e-5 * np.linalg.norm(true)
            assert loss == pytest.approx(true_loss, rel=1e-5)
            other, _ = by_hand(model, theta, x, y, factors(device, step + 1))
            assert np.linalg.norm(found - other) > 0.1 * np.linalg.norm(true)


def test_keras_has_the_same_gradient_from_the_same_state(model: OwnModel) -> None:
    import keras
    import tensorflow as tf

    theta, (x, y, noise) = model.initial(SEED), next(batches(model))
    network = noisy_model.build()
    generators = [v for v in network.non_trainable_variables if "seed" in v.path]
    for generator, seed in zip(generators, seeds("home", 1), strict=True):
        generator.assign(seed)
    for variable, (_, place) in zip(network.trainable_variables, model.layout, strict=True):
        variable.assign(theta[place].reshape(variable.shape))
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with tf.GradientTape() as tape:
        loss = cross_entropy(y, network(x.reshape(-1, 8, 8), training=True))
    slopes = tape.gradient(loss, network.trainable_variables)
    true = np.concatenate([slope.numpy().ravel() for slope in slopes])
    found, found_loss = GraphLearner(model.folder).gradient(theta, x, y, noise)
    assert np.linalg.norm(found - true) <= 1e-5 * np.linalg.norm(true)
    assert found_loss == pytest.approx(float(loss), rel=1e-5)


def test_kept_units_are_scaled_and_the_kept_share_is_that_of_the_layer(model: OwnModel) -> None:
    """With inputs of 1, the slope of a weight over that of its bias is what the noise lets pass."""
    theta = model.initial(SEED).copy()
    (_, w1), (_, b1), (_, w2), (_, b2), *_ = model.layout
    theta[w1], theta[b1] = 0.0, 1.0  # each hidden unit is 1
    learner, noises = GraphLearner(model.folder), batches(model)
    x, y = np.ones((1, 64), np.float32), np.zeros(1, np.int32)
    inputs, units = [], []
    for _ in range(600):
        slopes, _ = learner.gradient(theta, x, y, *noises.noise())
        alive = np.abs(slopes[b1]).argmax()
        inputs.append((slopes[w1].reshape(64, 16)[:, alive] / slopes[b1][alive]).reshape(8, 8))
        units.append(slopes[w2].reshape(16, 12)[:, 0] / slopes[b2][0])
    for passed, rate in ((np.array(inputs), RATES["spatial"]), (np.array(units), RATES["dropout"])):
        kept = passed > 0.5
        assert passed[kept] == pytest.approx(1 / (1 - rate), rel=1e-4)
        assert passed[~kept] == pytest.approx(0)
        assert kept.mean() == pytest.approx(1 - rate, abs=4 * (rate * (1 - rate) / 4800) ** 0.5)
    assert (np.array(inputs) == np.array(inputs)[:, :1]).all()  # a channel passes or not
    assert len({each.tobytes() for each in units}) > 590


def test_evaluation_has_no_noise(model: OwnModel) -> None:
    theta, (x, y, _) = model.initial(SEED), next(batches(model))
    _, true = by_hand(model, theta, x, y, None)
    _, loss = GraphEvaluator(model.folder).evaluate(theta, x, y)
    assert loss / len(y) == pytest.approx(true, rel=1e-5)


def test_a_run_in_virtual_time_descends_as_by_hand(model: OwnModel, tmp_path: Path) -> None:
    (tmp_path / "noisy.yaml").write_text(SCENARIO)
    scenario = emulator.load(tmp_path / "noisy.yaml")
    run = emulator.run(scenario, on="virtual", runs=tmp_path / "runs")
    lines = (Path(run) / "run.jsonl").read_text().splitlines()
    losses = [r["loss"] for r in map(json.loads, lines) if r["what"] == "update"]
    dealt = split_data(scenario)
    examples = Subset(dealt.data.train, dealt.parts["home"])
    theta, expected = model.initial(SEED).astype(float), []
    for step, (x, y, _) in enumerate(islice(batches(model, "home", examples), 12), 1):
        slope, loss = by_hand(model, theta, x, y, factors("home", step))
        theta -= 0.1 * slope
        expected.append(loss)
    assert losses == pytest.approx(expected, rel=1e-4)
