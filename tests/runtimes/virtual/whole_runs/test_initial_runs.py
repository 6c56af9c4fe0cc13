"""Runs that begin with the model of another run go on from it."""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from emulator.errors import ScenarioError
from emulator.scenario import load, loads
from emulator.scenario.unkept import unkept
from tests.fakes.virtual_world import played

ALONE = """
name: alone
training:
  dataset: digits
  model: digits-mlp
  batch_size: 400      # all examples: each step sees the same gradient, in any order
  learning_rate: 0.01
  algorithm: asgd
  optimizer: OPTIMIZER
evaluate: {every: 100}
stop: {updates: 40}
virtual: {learner: numpy, step: 20ms, boot: 50ms}
devices: [{name: one}]
"""


def text(optimizer: str, initial: Path | None = None) -> str:
    made = ALONE.replace("OPTIMIZER", optimizer)
    return (
        made if initial is None else made.replace("training:", f"training:\n  initial: {initial}")
    )


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_a_run_from_a_model_is_the_rest_of_a_longer_run(tmp_path: Path, optimizer: str) -> None:
    whole, *_ = played(tmp_path, text=text(optimizer))
    half, *_ = played(tmp_path, "stop.updates=20", text=text(optimizer))
    model = half / "model.npz"
    rest, summary, _ = played(tmp_path, "stop.updates=20", text=text(optimizer, model))
    assert summary["updates"] == 20
    with np.load(whole / "model.npz") as once, np.load(rest / "model.npz") as twice:
        # the mini-batch's order, and so its rounding, is that of a new run
        assert np.abs(once["theta"] - twice["theta"]).max() < 2e-4
        assert np.abs(once["theta"]).max() > 0.1
    manifest = json.loads((rest / "manifest.json").read_text())
    digest = sha256(model.read_bytes()).hexdigest()
    assert manifest["initial"] == {"file": str(model), "sha256": digest}
    assert manifest["not_kept"] == []
    assert load(rest / "scenario.yaml").training.initial == str(model)


def test_a_state_that_is_not_used_is_said(tmp_path: Path) -> None:
    model = played(tmp_path, "stop.updates=2", text=text("momentum"))[0] / "model.npz"
    for on in ("docker", "virtual"):
        (ignored,) = (
            key for key in unkept(loads(text("adam", model)), on) if "initial" in str(key)
        )
        assert "training.initial: its optimizer's state is not used" in str(ignored)
    assert unkept(loads(text("momentum", model)), "virtual") == []


def test_a_path_counts_from_the_scenario(tmp_path: Path) -> None:
    model = played(tmp_path, "stop.updates=2", text=text("sgd"))[0] / "model.npz"
    model.rename(tmp_path / "beside.npz")
    file = tmp_path / "own.yaml"
    file.write_text(text("sgd", Path("beside.npz")))
    assert load(file).training.initial == str(tmp_path / "beside.npz")


def test_what_is_no_model_to_begin_with_is_a_mistake(tmp_path: Path) -> None:
    model = played(tmp_path, "stop.updates=2", text=text("sgd"))[0] / "model.npz"
    for change, path, message in (
        ("", tmp_path / "none.npz", "none.npz cannot be read: No such file or directory: write"),
        ("", tmp_path, "cannot be read: Is a directory"),
        (
            "mnist",
            model,
            "does not hold a 'mnist-mlp': its variable 1 is dense0/weights[64, 128], and",
        ),
    ):
        made = text("sgd", path)
        if change:
            made = made.replace("digits-mlp", "mnist-mlp").replace("digits", "mnist")
        with pytest.raises(ScenarioError) as error:
            loads(made)
        (mistake,) = str(error.value).splitlines()
        assert mistake.startswith("scenario:4: training.initial: ")
        assert message in mistake


def test_a_model_of_the_wanted_accuracy_is_a_success(tmp_path: Path) -> None:
    model = played(tmp_path, text=text("momentum"))[0] / "model.npz"
    _, summary, _ = played(tmp_path, "stop={accuracy: 30%}", text=text("momentum", model))
    assert (summary["outcome"], summary["stop"], summary["updates"]) == ("success", "accuracy", 0)
