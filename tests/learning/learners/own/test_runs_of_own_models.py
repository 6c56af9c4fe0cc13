"""Runs of own models: devices with too little memory, and weights that go back to Keras."""

import json
from pathlib import Path

import numpy as np
import pytest

from emulator.cli.read.export_run import weights
from emulator.errors import EmulatorError
from emulator.learning.learners.export import own_model, write_keras_weights
from emulator.learning.models import saved_model
from emulator.learning.models.digits_mlp import DIGITS_MLP
from emulator.learning.models.own_model import MeasuredMemory, ModelSource
from tests.fakes.typed_commands import Emulate

pytestmark = pytest.mark.tensorflow

SOURCE = """
import keras
from keras import layers

class Backwards(keras.Model):  # its layers are not in the order of their use
    def __init__(self):
        super().__init__()
        self.head = layers.Dense(4)
        self.hidden = layers.Dense(9, activation="relu")

    def call(self, x):
        return self.head(self.hidden(x))

def build():
    inputs = keras.Input((7,))
    return keras.Model(inputs, Backwards()(layers.Dropout(0.1)(inputs)))
"""
SCENARIO = """
name: own
training: {dataset: ./points.npz, model: ./models.py:build, algorithm: asgd, batch_size: 8}
evaluate: {every: 20}
stop: {updates: 60}
virtual: {step: 10ms, boot: 1s}
devices:
  - {name: home, count: 2}
"""


def points(file: Path) -> tuple[np.ndarray, np.ndarray]:
    dice = np.random.default_rng(1)
    x = dice.normal(size=(400, 7)).astype(np.float32)
    y = (2 * (x[:, 0] > 0) + (x[:, 1] > 0)).astype(np.uint8)
    np.savez(file, x_train=x[:300], y_train=y[:300], x_test=x[300:], y_test=y[300:])
    return x[300:], y[300:]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which the model is exported once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def lab(emulate: Emulate, tmp_path: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMULATE_CACHE", str(graphs))
    points(tmp_path / "points.npz")
    (tmp_path / "models.py").write_text(SOURCE)
    (tmp_path / "lab.yaml").write_text(SCENARIO)
    return tmp_path


def test_keras_has_the_accuracy_and_the_loss_of_the_run(emulate: Emulate, lab: Path) -> None:
    x, y = points(lab / "points.npz")
    done = emulate("run", lab / "lab.yaml", "--on", "virtual", "--json", "--no-report")
    assert done.code == 0, done.err
    (lab / "models.py").unlink()  # the run has a copy
    said = emulate("export", done.json["run"], "--format", "keras")
    assert said.code == 0, said.err
    records = map(json.loads, (Path(done.json["run"]) / "run.jsonl").read_text().splitlines())
    *_, last = (record for record in records if record["what"] == "evaluation")
    assert last["updates"] == 60

    import keras

    scope: dict[str, object] = {}
    exec(SOURCE, scope)
    model = scope["build"]()  # type: ignore[operator]
    model.load_weights(said.out.strip())
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    outputs = model(x)
    assert float(loss(y, outputs)) == pytest.approx(last["loss"], rel=1e-5)
    assert np.mean(np.argmax(outputs, 1) == y) == pytest.approx(done.json["final_accuracy"])


def test_another_models_parameters_are_refused(lab: Path) -> None:
    model = own_model(ModelSource(f"{lab}/models.py:build"))
    other = saved_model.SavedModel(DIGITS_MLP.initial(0), 0, DIGITS_MLP.layout)
    saved_model.write(lab / "model.npz", other)
    with pytest.raises(ValueError, match=r"its variable 1 is .* was expected"):
        write_keras_weights(model, lab / "model.npz", lab / "model.weights.h5")
    assert not list(lab.glob("*.h5"))


@pytest.mark.parametrize(
    ("limit", "codec", "need", "code"),
    [
        ("170MiB", "asgd", "194MiB", 1),
        ("190MiB", "asgd", "194MiB", 0),
        ("195MiB", "asgd", "", 0),
        ("195MiB", "topk-ef", "254MiB", 1),
    ],
)
def test_devices_with_less_memory_than_measured_are_refused(
    emulate: Emulate, lab: Path, limit: str, codec: str, need: str, code: int
) -> None:
    mega = 1 << 20
    model = own_model(ModelSource(f"{lab}/models.py:build"))
    model.keep_memory(MeasuredMemory(146 * mega, 6 * mega, 10, 40 * mega, 20 * mega))
    words = f"devices[0].profile={{memory: {limit}}}", f"training.algorithm={codec}"
    said = emulate(
        "check", lab / "lab.yaml", "--json", *(w for word in words for w in ("--set", word))
    )
    text = f"home-0 has a limit of {limit}, and a device needs {need} with mini-batches of 8"
    refused = [error for error in said.json["refusals"]["docker"] if text in error]
    told = [short["severity"] for short in said.json["shortfalls"] if text in short["text"]]
    assert (bool(refused), told) == (code == 1, [("warning", "error")[code]] if need else [])
    assert not any(text in error for error in said.json["refusals"]["virtual"])


def test_runs_of_shipped_models_name_the_file_of_their_parameters(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text(
        "name: shipped\ntraining: {dataset: digits, model: digits-mlp, algorithm: asgd}\n"
        "stop: {updates: 9}\ndevices: [{name: home}]\n"
    )
    with pytest.raises(EmulatorError, match=r"digits-mlp, which is no Keras model .* model\.npz"):
        weights(tmp_path, tmp_path / "keras")
    assert not (tmp_path / "keras").exists()


def test_check_says_that_no_run_uses_what_a_model_is_compiled_with(
    emulate: Emulate, lab: Path
) -> None:
    compiled = (
        "def compiled():\n    made = build()\n    made.compile(loss='hinge')\n    return made\n"
    )
    (lab / "models.py").write_text(f"{SOURCE}\n{compiled}")
    model = "training.model=./models.py:compiled"
    shown = emulate("check", lab / "lab.yaml", "--set", model, "--json", "--on", "virtual").json
    (warning,) = [s["text"] for s in shown["shortfalls"] if "compiled with" in s["text"]]
    assert "loss hinge, optimizer RMSprop" in warning
    assert "the loss is crossentropy, the optimizer sgd" in warning


def test_the_export_names_loss_and_optimizer_of_any_kind() -> None:
    import keras

    from emulator.learning.learners.tensorflow.keras_export import compiled_with

    def own(y: object, z: object) -> object:
        return z

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    assert compiled_with(model) == ""
    for loss, name in (("hinge", "hinge"), (keras.losses.Huber(), "Huber"), (own, "own")):
        model.compile(loss=loss, optimizer=keras.optimizers.SGD(1.0))
        assert compiled_with(model) == f"loss {name}, optimizer SGD"
