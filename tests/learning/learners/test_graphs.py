"""The exported graphs, run through the C library, against TensorFlow's own Python package."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from emulator.layout import Variable
from emulator.learning import models
from emulator.learning.datasets import shard
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.capi import TensorFlowError
from emulator.learning.learners.device import FEW, DeviceEvaluator, DeviceLearner
from emulator.learning.learners.export import exported
from emulator.learning.learners.graph import (
    EVALUATION,
    GRADIENT,
    GraphEvaluator,
    GraphLearner,
    read_layout,
)
from emulator.learning.learners.tf_session import LoadedGraph
from emulator.learning.models import MODELS, Model

pytestmark = pytest.mark.tensorflow
EVERY = pytest.mark.parametrize("name", MODELS)


def batch(model: Model, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, model.task.classes, (size, *model.task.answers)).astype(np.int32)
    if model.task.inputs == "texts":
        return rng.integers(0, model.task.classes, y.shape).astype(np.float32), y
    return rng.random((size, math.prod(model.task.shape)), dtype=np.float32), y


@pytest.fixture
def digits() -> Iterator[GraphLearner]:
    learner = GraphLearner(exported("digits-mlp"))
    yield learner
    learner.close()


def keras(model: Model, theta: np.ndarray) -> Any:
    """The model once more, from Keras' own layers."""
    import tensorflow as tf

    if model.name.endswith("-resnet"):
        return residual(model, theta)
    network = tf.keras.Sequential([tf.keras.Input((math.prod(model.task.shape),))])
    if model.task.inputs == "texts":
        network.add(tf.keras.layers.CategoryEncoding(model.task.classes, output_mode="one_hot"))
    weights = [v for v in model.layout.variables if v.kind != "bias"]
    if weights[0].kind == "conv":
        network.add(tf.keras.layers.Reshape((*model.task.shape, 1)))
    for number, variable in enumerate(weights):
        if number and (weights[number - 1].kind, variable.kind) == ("conv", "dense"):
            network.add(tf.keras.layers.Flatten())
        for layer in of_keras(model, variable, last=number == len(weights) - 1):
            network.add(layer)
    network.set_weights([theta[at].reshape(v.shape) for v, at in model.layout])
    return network


def residual(model: Model, theta: np.ndarray) -> Any:
    """The residual network, from Keras' own layers."""
    import tensorflow as tf

    layers = tf.keras.layers

    def convolve(x: Any, filters: int, stride: int = 1) -> Any:
        # Keras pads an even image below and to the right of it, as TensorFlow does
        return layers.Conv2D(filters, 3, strides=stride, padding="same")(x)

    x = entered = tf.keras.Input((model.task.values,))
    shape = (*model.task.shape, 1)[:3]
    x = layers.ReLU()(convolve(layers.Reshape(shape)(x), 16))
    for filters in (16, 32, 64):
        for _ in range(3):
            added = filters - x.shape[-1]
            inner = convolve(layers.ReLU()(convolve(x, filters, 2 if added else 1)), filters)
            if added:  # every second pixel, and channels of zeros
                x = layers.MaxPooling2D(1, strides=2)(x)
                x = layers.Concatenate()([x, layers.Rescaling(0.0)(x)])
            x = layers.ReLU()(layers.Add()([inner, x]))
    network = tf.keras.Model(entered, layers.Dense(10)(layers.Flatten()(x)))
    network.set_weights([theta[at].reshape(v.shape) for v, at in model.layout])
    return network


def of_keras(model: Model, variable: Variable, last: bool) -> list[Any]:
    import tensorflow as tf

    layers, (*inner, outputs) = tf.keras.layers, variable.shape
    if variable.kind == "conv":
        bare = model.name == "mnist-lenet"
        padding, active = ("valid", None) if bare else ("same", "relu")
        convolution = layers.Conv2D(outputs, inner[0], padding=padding, activation=active)
        pooled = model.name != "mnist-vgg" or variable.layer in (1, 3, 6, 8)
        return [convolution, *([layers.MaxPooling2D(2, padding=padding)] if pooled else [])]
    if variable.name.endswith("recurrent"):
        return []  # it belongs to the layer before
    if variable.kind == "recurrent":
        return [layers.LSTM(outputs // 4, return_sequences=True)]
    return [layers.Dense(outputs, activation=None if last else "relu")]


def taped(model: Model, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    """The gradient of each variable by tf.GradientTape, and the loss."""
    import tensorflow as tf

    network = keras(model, theta)
    cross_entropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    with tf.GradientTape() as tape:
        loss = cross_entropy(y, network(x))
    gradients = tape.gradient(loss, network.trainable_variables)
    return [gradient.numpy() for gradient in gradients], float(loss)


@EVERY
@pytest.mark.parametrize("size", [1, 10, 64])
def test_the_gradient_is_that_of_the_tape(name: str, size: int) -> None:
    model = models.find(name)
    theta, (x, y) = model.initial(0), batch(model, size)
    gradient, loss = GraphLearner(exported(name)).gradient(theta, x, y)
    expected, expected_loss = taped(model, theta, x, y)
    assert gradient.shape == theta.shape and gradient.dtype == np.float32
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    for (variable, at), true in zip(model.layout, expected, strict=True):
        apart = np.linalg.norm(gradient[at] - true.ravel())
        assert apart <= 1e-5 * np.linalg.norm(true), variable.name


@EVERY
def test_the_gradient_is_the_slope_of_the_loss(name: str) -> None:
    """Along a random direction in each variable by itself, by central differences."""
    model, rng = models.find(name), np.random.default_rng(1)
    theta, (x, y) = model.initial(0), batch(model, 10)
    learner = GraphLearner(exported(name))
    gradient, _ = learner.gradient(theta, x, y)
    length = 0.005 if name.endswith("-resnet") else 0.02  # a deep loss has many bends
    for variable, at in model.layout:
        step = np.zeros_like(theta)
        step[at] = gradient[at] + rng.normal(size=variable.size) * gradient[at].std()
        step *= np.float32(length / np.linalg.norm(step))
        above, below = (learner.gradient(theta + aside, x, y)[1] for aside in (step, -step))
        slope = float(gradient @ step)
        assert (above - below) / 2 == pytest.approx(slope, rel=0.03, abs=3e-6), variable.name


@EVERY
@pytest.mark.parametrize("file", [GRADIENT, EVALUATION])
def test_a_graph_is_without_loops_and_branches(name: str, file: str) -> None:
    """Which would take TensorFlow's executor off the one thread, and its optimizer to unroll."""
    content = (exported(name) / file).read_bytes()
    for operation in (
        b"While",
        b"Enter",
        b"Switch",
        b"StatelessIf",
        b"PartitionedCall",
        b"VarHandleOp",
    ):
        assert operation not in content, operation


@EVERY
def test_the_evaluation_is_that_of_keras(name: str) -> None:
    model = models.find(name)
    theta, (x, y) = model.initial(0), batch(model, 300)
    correct, loss = GraphEvaluator(exported(name)).evaluate(theta, x, y)
    logits = keras(model, theta)(x).numpy().astype(np.float64)
    assert correct == np.count_nonzero(logits.argmax(-1) == y)
    top = logits.max(-1, keepdims=True)
    exact = np.log(np.exp(logits - top).sum(-1, keepdims=True)) + top
    true = np.take_along_axis(logits, y[..., None], -1)
    assert loss == pytest.approx(np.sum(exact - true), rel=1e-5)


@EVERY
def test_the_folder_knows_the_layout(name: str) -> None:
    assert read_layout(exported(name)) == models.find(name).layout


def test_a_device_learns_and_is_evaluated(tmp_path: Path) -> None:
    model, rng = models.find("digits-mlp"), np.random.default_rng(0)
    labels = rng.integers(0, 10, 330, np.uint8)
    images = np.zeros((330, 8, 8), np.uint8)
    images[np.arange(330), labels % 8, labels // 8] = 16  # a lit pixel for each class
    shard.write(tmp_path, Examples(images, labels, 16))
    batches = Batches(shard.read(tmp_path), 32, "7/a/batches/0")
    learner = DeviceLearner(exported(model.name), batches)
    evaluator = DeviceEvaluator(exported(model.name), tmp_path)
    theta = model.initial(0)
    before = evaluator.evaluate(theta)
    for _ in range(100):
        theta = theta - np.float32(0.5) * learner.gradient(theta)[0]
    after = evaluator.evaluate(theta)
    assert before[0] < 0.5 < 1.0 == after[0]
    assert after[1] < 0.1 < before[1]


@pytest.mark.parametrize("size, prepared", [(16, 16), (40, FEW)])
def test_a_device_is_prepared_and_its_first_batch_is_still_the_first(
    size: int, prepared: int, tmp_path: Path
) -> None:
    model, rng = models.find("digits-mlp"), np.random.default_rng(0)
    images, labels = rng.integers(0, 17, (40, 8, 8), np.uint8), rng.integers(0, 10, 40, np.uint8)
    examples = Examples(images, labels, 16)
    shard.write(tmp_path, examples)
    feed, shapes = LoadedGraph.feed, []

    def seen(graph: LoadedGraph, name: str, value: np.ndarray) -> int:
        shapes.append(value.shape)
        return feed(graph, name, value)

    with patch.object(LoadedGraph, "feed", seen):
        learner = DeviceLearner(exported(model.name), Batches(shard.read(tmp_path), size, "a"))
    assert shapes == [(model.layout.size,), (prepared, 64), (prepared,)]
    theta, bare = model.initial(0), GraphLearner(exported(model.name))
    for batch in islice(Batches(examples, size, "a"), 5):
        assert np.array_equal(learner.gradient(theta)[0], bare.gradient(theta, *batch)[0])


def test_a_gradient_outlives_the_next_one_and_the_session() -> None:
    model = models.find("digits-mlp")
    learner, theta = GraphLearner(exported(model.name)), model.initial(0)
    first, _ = learner.gradient(theta, *batch(model, 10, seed=1))
    kept = first.copy()
    for seed in range(2, 9):
        learner.gradient(theta, *batch(model, 10, seed))
    learner.close()
    assert np.array_equal(first, kept)


def test_weights_may_come_from_anywhere(digits: GraphLearner) -> None:
    model = models.find("digits-mlp")
    theta, (x, y) = model.initial(0), batch(model, 10)
    expected, _ = digits.gradient(theta, x, y)
    message = b"head" + theta.tobytes()
    unaligned = np.frombuffer(memoryview(message)[4:], np.float32)
    strided = np.repeat(theta, 2)[::2]
    for same in (unaligned, strided):
        assert np.array_equal(digits.gradient(same, x, y)[0], expected)


def test_what_does_not_fit_is_refused_and_harms_nothing(digits: GraphLearner) -> None:
    model = models.find("digits-mlp")
    theta, (x, y) = model.initial(0), batch(model, 10)
    expected, _ = digits.gradient(theta, x, y)
    for wrong, said in (
        ((theta[:-1], x, y), r"theta has shape \(17225,\), the model 17226"),
        ((np.append(theta, theta[:1]), x, y), "17227"),
        ((theta, x[:, :-1], y), "63"),
        ((theta, x, y[:-1]), "9"),
        ((theta, x, y + 10), "label"),
        ((theta.astype(np.float64), x, y), "float64 is not"),
        ((theta, x, y.astype(np.int64)), "int64"),
    ):
        with pytest.raises((TensorFlowError, ValueError), match=said):
            digits.gradient(*wrong)
    assert np.array_equal(digits.gradient(theta, x, y)[0], expected)
    digits.close()
    with pytest.raises(TensorFlowError, match="closed"):
        digits.gradient(theta, x, y)


def test_a_broken_graph_is_refused(tmp_path: Path) -> None:
    for file in exported("digits-mlp").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "gradient.pb").write_bytes(b"no graph")
    with pytest.raises(TensorFlowError):
        GraphLearner(tmp_path)
    (tmp_path / "gradient.pb").write_bytes(b"")
    with pytest.raises(TensorFlowError, match="no operation theta or x or y"):
        GraphLearner(tmp_path)


def test_exports_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path))
    folder = exported("digits-mlp")
    assert {file.name for file in folder.iterdir()} == {
        "gradient.pb",
        "evaluation.pb",
        "graph.json",
        "layers.pb",
        "layers.json",
        "SHA256SUMS",
    }
    assert list((tmp_path / "graphs").iterdir()) == [folder]
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert exported("digits-mlp") == folder


DEVICE = """
import sys, msgspec, numpy as np, zmq
from pathlib import Path
from emulator.learning.learners.device import DeviceLearner
from emulator.learning.datasets import shard
from emulator.learning.learners.batches import Batches
theta = np.load(sys.argv[3])
batches = Batches(shard.read(Path(sys.argv[2])), 10, "any")
learner = DeviceLearner(Path(sys.argv[1]), batches)
for _ in range(int(sys.argv[4])):
    gradient, loss = learner.gradient(theta)
assert np.isfinite(gradient).all() and "tensorflow" not in sys.modules
import hashlib, ssl, secrets  # they crash if the library has put its symbols before OpenSSL's
ssl.create_default_context(), hashlib.sha256(b"").digest(), np.random.default_rng().random()
rollup = dict(line.split()[:2] for line in open("/proc/self/smaps_rollup").readlines()[1:])
print(int(rollup["Private_Clean:"]) + int(rollup["Private_Dirty:"]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Any]:
    """Starts bare devices, and says how many KiB of memory each has for itself."""
    running: list[subprocess.Popen[str]] = []

    def start(name: str, steps: int) -> int:
        model, rng = models.find(name), np.random.default_rng(0)
        images = rng.integers(0, 256, (300, *model.task.shape), np.uint8)
        shard.write(tmp_path, Examples(images, rng.integers(0, 10, 300, np.uint8), 255))
        np.save(tmp_path / "theta.npy", model.initial(0))
        folders = [str(exported(name)), str(tmp_path), str(tmp_path / "theta.npy")]
        command = [sys.executable, "-c", DEVICE, *folders, str(steps)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        running.append(process)
        assert process.stdout
        return int(process.stdout.readline() or -1)

    yield start
    for process in running:
        process.communicate()


def test_a_second_device_costs_85_megabytes_at_most(device: Any) -> None:
    assert device("mnist-cnn", 1) > 0  # it holds the pages that both share
    assert 0 < device("mnist-cnn", 100) < 85 * 1024


def test_a_thousand_gradients_leave_nothing_behind(device: Any) -> None:
    assert device("digits-mlp", 1) > 0
    few, many = (device("digits-mlp", steps) for steps in (20, 1020))
    assert 0 < many < few + 8 * 1024  # the gradients alone would be 67 MiB


KERNELS = (
    "from emulator.learning.learners import capi\ncapi.library()\nprint(capi._with_onednn())\n"
)


def asked_for_kernels(code: str, asked: str | None) -> subprocess.CompletedProcess[str]:
    """Run `code` in a process with `asked` as TF_ENABLE_ONEDNN_OPTS."""
    environment = {k: v for k, v in os.environ.items() if k != "TF_ENABLE_ONEDNN_OPTS"}
    if asked is not None:
        environment["TF_ENABLE_ONEDNN_OPTS"] = asked
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("asked", [None, "0", "1"])
def test_onednn_is_on_whatever_the_environment_says(asked: str | None) -> None:
    """And whatever TensorFlow would choose on this processor."""
    assert asked_for_kernels(KERNELS, asked).stdout == "True\n"


@pytest.mark.parametrize(("asked", "warned"), [("0", True), ("1", False)])
def test_kernels_that_tensorflow_chose_before_are_told(asked: str, warned: bool) -> None:
    done = asked_for_kernels("import tensorflow\n" + KERNELS, asked)
    assert done.stdout == f"{not warned}\n"
    assert ("TensorFlow was imported before emulator" in done.stderr) == warned
