"""How own models end: which outputs are logits, which parts have a gradient, which are constant."""

from pathlib import Path

import numpy as np
import pytest

from emulator.errors import PythonFileError
from emulator.learning.learners.graph import GraphLearner
from emulator.learning.models.own_model import KerasRequest, ModelSource, UntrainableError
from emulator.plugins.python_file import Reference

pytestmark = pytest.mark.tensorflow

SOURCE = """
import keras
from keras import layers, ops

class Backwards(keras.Model):  # its layers are not in the order of their use
    def __init__(self, activation):
        super().__init__()
        self.head = layers.Dense(4, activation=activation)
        self.hidden = layers.Dense(9, activation="relu")

    def call(self, x):
        return self.head(self.hidden(x))

def _ended(end):
    inputs = keras.Input((7,))
    return keras.Model(inputs, end(inputs))

def logits():
    return _ended(Backwards(None))

def layer():
    return _ended(layers.Dense(4, activation="softmax"))

def hidden():
    return _ended(Backwards("softmax"))

def operation():
    return _ended(lambda x: ops.softmax(layers.Dense(4)(x)))

def reshaped():
    return _ended(lambda x: layers.Reshape((4,))(layers.Dense(4, activation="softmax")(x)))

def mixture():
    return _ended(lambda x: (Backwards("softmax")(x) + Backwards("softmax")(x)) / 2)

def sigmoid():
    return _ended(Backwards("sigmoid"))

def relu():
    return _ended(layers.Dense(4, activation="relu"))

def stopped():
    return _ended(lambda x: layers.Dense(4)(ops.stop_gradient(layers.Dense(5)(x))))

def frozen():
    model = _ended(lambda x: layers.Dense(4)(layers.Dense(5, name="frozen")(x)))
    model.get_layer("frozen").trainable = False
    return model
"""


def request(folder: Path, name: str, seed: int = 0) -> tuple[KerasRequest, Reference]:
    file = folder / "models.py"
    file.write_text(SOURCE)
    reference = f"{file}:{name}"
    made = folder / f"{name}-{seed}"
    asked = KerasRequest(ModelSource(reference), name, str(made), seed)
    return asked, Reference.read(reference, "/")


@pytest.mark.parametrize("name", ["logits", "layer", "hidden", "operation", "reshaped", "mixture"])
def test_cross_entropy_knows_logits_from_probabilities(tmp_path: Path, name: str) -> None:
    import tensorflow as tf

    from emulator.learning.learners.tensorflow.keras_task import task_of
    from emulator.learning.learners.tensorflow.losses import logits_of

    model = request(tmp_path, name)[1].load()()
    x = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    end = logits_of("crossentropy", model, task_of(model, False))
    outputs = model(x).numpy()
    expected = tf.nn.softmax(outputs) if name == "logits" else outputs
    assert np.allclose(tf.nn.softmax(tf.function(lambda x: end(model(x)))(x)), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "says"),
    [("sigmoid", "made by Sigmoid"), ("relu", "ends with 'relu'"), ("stopped", "no gradient by")],
)
def test_a_model_that_ends_otherwise_is_refused(tmp_path: Path, name: str, says: str) -> None:
    from emulator.learning.learners.tensorflow.keras_export import export_own

    with pytest.raises(UntrainableError, match=says):
        export_own(*request(tmp_path, name))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("def loss(y_true): return 0.0", "1: raises TypeError: loss() takes 1 positional argument"),
        (
            "\ndef loss(y_true, y_pred): pass",
            "2: raises ValueError: Attempt to convert a value",
        ),
        (
            "def loss(y_true, y_pred): return 'x'",
            "1: loss() returns string: a loss for each",
        ),
        ("def loss(y_true, y_pred):\n    1 / 0", "2: raises ZeroDivisionError"),
        ("class loss: pass", "1: raises TypeError: loss() takes no arguments"),
    ],
)
def test_a_loss_that_is_none_is_told_by_its_line(tmp_path: Path, code: str, says: str) -> None:
    from emulator.learning.learners.tensorflow.losses import losses_of

    (tmp_path / "losses.py").write_text(code)
    losses = losses_of(f"{tmp_path}/losses.py:loss")
    with pytest.raises(PythonFileError) as refused:
        losses(np.zeros((2, 3), np.float32), np.zeros(2, np.int32))
    assert str(refused.value).startswith(f"{tmp_path}/losses.py:{says}")


def test_constants_do_not_depend_on_the_seed_that_came_first(tmp_path: Path) -> None:
    from emulator.learning.learners.tensorflow.keras_export import export_own

    graphs = []
    for seed in (0, 1):
        asked, reference = request(tmp_path, "frozen", seed)
        export_own(asked, reference)
        graphs.append(GraphLearner(Path(asked.folder)))
    theta, x = np.ones(24, np.float32), np.ones((3, 7), np.float32)
    answers = [graph.gradient(theta, x, np.arange(3, dtype=np.int32)) for graph in graphs]
    assert np.array_equal(answers[0][0], answers[1][0])
