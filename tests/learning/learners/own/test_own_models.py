"""Keras models from a Python file, exported and run through the C library."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator import chance
from emulator.errors import PythonFileError
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.export import own_model, ready
from emulator.learning.learners.graph import GraphEvaluator, GraphLearner
from emulator.learning.learners.staged_graph import StagedGraph
from emulator.learning.models import OwnModel
from emulator.learning.models.own_model import ModelSource
from emulator.learning.models.task import Task

pytestmark = pytest.mark.tensorflow

MODELS = Path(__file__).with_name("models.py")

TASKS = {
    "dense": Task("images", (8, 8), classes=10),
    "cnn": Task("images", (32, 32, 3), classes=10),
    "mobile": Task("images", (32, 32, 3), classes=10),
    "text": Task("tokens", (20,), classes=4, vocabulary=50),
    "penalized": Task("tokens", (20,), classes=4, vocabulary=50),
}


def exported(name: str) -> OwnModel:
    model = own_model(ModelSource(f"{MODELS}:{name}"))
    ready(model, 0)
    return model


def batch(task: Task, size: int = 8) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, task.classes, size).astype(np.int32)
    if task.inputs == "tokens":
        return rng.integers(0, task.vocabulary, (size, *task.shape)).astype(np.float32), y
    return rng.random((size, math.prod(task.shape)), dtype=np.float32), y


def taped(name: str, x: Any, y: Any) -> tuple[list[Any], float, Any]:
    """The gradient of each variable by tf.GradientTape, the loss, and the variables."""
    import keras
    import tensorflow as tf

    from tests.learning.learners.own import models

    keras.utils.set_random_seed(chance.keras_seed(0))
    network = getattr(models, name)()
    probabilities = name == "cnn"
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=not probabilities)
    with tf.GradientTape() as tape:
        outputs = network(x.reshape(-1, *network.input_shape[1:]), training=True)
        loss = cross_entropy(y, outputs) + tf.add_n([0.0, *network.losses])
    gradients = tape.gradient(loss, network.trainable_variables)
    dense = [tf.convert_to_tensor(gradient).numpy() for gradient in gradients]
    return dense, float(loss), network.trainable_variables


@pytest.mark.parametrize("name", TASKS)
def test_weights_and_gradient_are_those_of_keras(name: str) -> None:
    model = exported(name)
    assert model.task == TASKS[name]
    theta, (x, y) = model.initial(0), batch(model.task)
    expected, expected_loss, variables = taped(name, x, y)
    true = {v.shape: [] for v in variables}
    for variable, slope in zip(variables, expected, strict=True):
        true[variable.shape].append((variable.numpy(), slope))
    gradient, loss = GraphLearner(model.folder).gradient(theta, x, y)
    assert loss == pytest.approx(expected_loss, rel=1e-5)
    for variable, at in model.layout:
        ours = theta[at].reshape(variable.shape), gradient[at].reshape(variable.shape)
        same = [slope for value, slope in true[variable.shape] if np.array_equal(value, ours[0])]
        apart = min(np.linalg.norm(ours[1] - s) / (np.linalg.norm(s) or 1) for s in same)
        assert apart <= 1e-5, variable.name


@pytest.mark.parametrize("name", ["cnn", "mobile", "text"])
def test_layers_apart_have_the_same_gradient(name: str) -> None:
    model = exported(name)
    theta, (x, y) = model.initial(0), batch(model.task)
    whole, loss = GraphLearner(model.folder).gradient(theta, x, y)
    layered = StagedGraph(model.folder)
    layered.begin(x, y)
    for number, place in enumerate(model.layout.layers, 1):
        layered.forward(number, theta[place])
    assert layered.loss == pytest.approx(loss, rel=1e-6)
    for number, place in reversed([*enumerate(model.layout.layers, 1)]):
        apart = layered.backward(number)
        assert np.linalg.norm(apart - whole[place]) <= 1e-5 * np.linalg.norm(whole[place])


def test_kinds_follow_from_the_layers() -> None:
    assert exported("mobile").layout.kinds.keys() == {"conv", "dense", "bias"}
    kinds = [variable.kind for variable in exported("text").layout.variables]
    assert kinds == ["embedding", "recurrent", "recurrent", "bias", "dense", "bias"]


def test_that_layers_which_do_not_run_apart_say_why() -> None:
    model = exported("penalized")
    assert "regularizers" in model.unstaged
    with pytest.raises(ValueError, match=r"^models\.py:penalized cannot be cut: it has regul"):
        model.crossing(1)


def test_a_layer_that_cannot_be_cut_behind_names_the_layers_in_the_way() -> None:
    model = exported("mobile")
    reasons = dict(model.uncut)
    assert reasons and len(reasons) < len(model.layout.layers) - 1
    for reason in reasons.values():
        assert re.search(r"both parts of the model would read the parameters of layer \d", reason)


# Each row starts TensorFlow in a process of its own.
@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("two_inputs", "def two_inputs", "the model has 2 inputs"),
        ("raising", "1 // 0", "raises ZeroDivisionError"),
        ("sigmoid", "def sigmoid", "ends with 'sigmoid'"),
        ("modle", "", "did you mean 'mobile'"),
        *(
            pytest.param(*row, marks=pytest.mark.thorough)
            for row in (
                (
                    "batch_normalized",
                    "def batch_normalized",
                    "GroupNormalization or LayerNormalization",
                ),
                ("constrained", "def constrained", "layer 'narrow' constrains 'kernel'"),
                (
                    "accented",
                    "def accented",
                    "layer 'größte Schicht' has a name that TensorFlow's graphs",
                ),
                (
                    "infinite",
                    "def infinite",
                    "layer 'narrow' begins with a 'bias' that is not finite",
                ),
                ("remembering", "def remembering", "leave stateful=True out"),
                ("reading", "def reading", "its input is text"),
                ("interrupting", "raise KeyboardInterrupt", "raises KeyboardInterrupt"),
                ("pythonic", "def pythonic", "calls a Python function"),
                ("nothing", "def nothing", "returns None, not a tf.keras.Model"),
                ("unsaid", "def unsaid", "does not say its input"),
                ("model", "", "is a Sequential: write a function"),
            )
        ),
    ],
)
def test_a_model_that_cannot_be_trained_is_told_by_its_line(
    name: str, line: str, message: str
) -> None:
    with pytest.raises(PythonFileError, match=message) as refused:
        own_model(ModelSource(f"{MODELS}:{name}"))
    (mistake,) = refused.value.mistakes
    lines = MODELS.read_text().splitlines()
    found = mistake["line"]
    assert mistake["file"] == str(MODELS)
    assert line in lines[found - 1] if line else found is None


def test_a_file_may_print_when_its_process_ends_and_may_not_end_it(tmp_path: Path) -> None:
    text = "import atexit, os, keras\natexit.register(print, 'bye')\n"
    text += "def small(): return keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])\n"
    (tmp_path / "models.py").write_text(text + "def leaving(): os._exit(0)\n")
    assert own_model(ModelSource(f"{tmp_path}/models.py:small")).layout.size == 8
    with pytest.raises(PythonFileError, match="ended its process before the model was exported"):
        own_model(ModelSource(f"{tmp_path}/models.py:leaving"))


def test_noise_is_seeded_by_device_and_step() -> None:
    model = exported("noisy")
    theta, (x, y) = model.initial(0), batch(model.task)
    examples = Examples(x.reshape(-1, 8, 8), y, 1)

    def noises(device: str) -> list[Any]:
        batches = Batches(examples, 8, "order", chance.noise(7, device, 0))
        return [batches.noise() for _ in range(3)]

    learner = GraphLearner(model.folder)
    first, again, other = ([*noises(device)] for device in ("a-0", "a-0", "a-1"))
    gradients = [[learner.gradient(theta, x, y, *n)[0] for n in each] for each in (first, again)]
    assert np.array_equal(*gradients)  # a device's step, drawn again
    slopes = [*gradients[0], *(learner.gradient(theta, x, y, *noise)[0] for noise in other)]
    assert len({slope.tobytes() for slope in slopes}) == 6
    layered = StagedGraph(model.folder)
    layered.begin(x, y, *first[1])
    for number, place in enumerate(model.layout.layers, 1):
        layered.forward(number, theta[place])
    apart = np.concatenate([layered.backward(2), layered.backward(1)])
    parts = [slopes[1][place] for place in reversed(model.layout.layers)]
    assert np.allclose(apart, np.concatenate(parts), rtol=1e-5, atol=1e-7)
    evaluate = GraphEvaluator(model.folder).evaluate
    assert evaluate(theta, x, y) == evaluate(theta, x, y)  # without noise
    with pytest.raises(ValueError, match="as Dropout does"):
        model.crossing(1)


def test_an_output_in_a_mapping_is_the_answer() -> None:
    model = exported("mapped")
    gradient, _ = GraphLearner(model.folder).gradient(model.initial(0), *batch(model.task))
    assert gradient.any()


def test_another_seed_draws_other_weights_beside_the_same_graphs() -> None:
    model = exported("dense")
    assert ready(model, 1) == model.folder
    apart = model.initial(0) != model.initial(1)
    assert apart[: model.layout.variables[0].size].all()


def test_a_model_is_known_by_where_its_source_is_now(tmp_path: Path) -> None:
    """The export is that of the same source elsewhere, which may be gone."""
    once, now = tmp_path / "once", tmp_path / "now"
    for folder in (once, now):
        folder.mkdir()
        (folder / "models.py").write_text(MODELS.read_text())
    before = own_model(ModelSource(f"{once}/models.py:dense"))
    (once / "models.py").unlink()
    model = own_model(ModelSource(f"{now}/models.py:dense"))
    assert (model.name, model.folder) == (before.name, before.folder)
    assert ready(model, 0) == model.folder
