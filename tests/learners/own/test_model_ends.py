"""How own models end: which outputs are logits, which parts have a gradient, which are constant."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.learners.keras_request import KerasRequest, UntrainableError
from emulator.models import OwnModel
from emulator.models.own_model import ModelSource
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


@pytest.fixture
def export(tmp_path: Path) -> Any:
    from emulator.learners.tensorflow_keras import export_own

    (tmp_path / "models.py").write_text(SOURCE)

    def made(name: str, seed: int = 0) -> OwnModel:
        reference = f"{tmp_path}/models.py:{name}"
        folder = tmp_path / f"{name}-{seed}"
        request = KerasRequest(ModelSource(reference), name, str(folder), seed)
        export_own(request, Reference.read(reference, "/"))
        return OwnModel.read(folder)

    return made


@pytest.mark.parametrize("name", ["logits", "layer", "hidden", "operation", "reshaped", "mixture"])
def test_cross_entropy_knows_logits_from_probabilities(export: Any, name: str) -> None:
    import keras
    import tensorflow as tf

    from emulator.learners.tensorflow_keras_task import task_of
    from emulator.learners.tensorflow_losses import logits_of

    export(name)  # it can be exported
    model = Reference.read(f"{export('logits').origin.reference[:-6]}{name}", "/").load()()
    x = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
    logits = tf.function(lambda x: logits_of("crossentropy", model, task_of(model, False))(model(x)))
    outputs = model(x).numpy()
    expected = keras.ops.softmax(outputs) if name == "logits" else outputs
    assert np.allclose(tf.nn.softmax(logits(x)), expected, atol=1e-6)
