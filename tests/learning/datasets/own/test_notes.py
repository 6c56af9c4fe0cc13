"""Data that may be meant otherwise than it is read gets a note with the remedy; no other does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.checks.own_parts import misunderstood_parts
from emulator.learning import datasets
from emulator.learning.datasets.own import OwnDataset, kept_data
from tests.fakes.typed_commands import Emulate

from .given import RNG, digits, mistakes, scenario

CLASSES = np.arange(40) % 3
VECTORS = {"x_train": RNG.normal(size=(40, 6)), "x_test": None, "y_test": None}
PIXELS = RNG.integers(0, 256, (40, 8, 8))
IMAGES = {"x_test": None, "y_test": None}

NOTED: dict[str, tuple[dict[str, Any], str]] = {
    "classes with a point": ({**VECTORS, "y_train": CLASSES * 1.0}, "task: classification"),
    "as a column": ({**VECTORS, "y_train": CLASSES[:, None] * 1.0}, "task: classification"),
    "from 1": ({**VECTORS, "y_train": 1.0 + CLASSES}, "task: regression"),
    "in half precision": ({**VECTORS, "y_train": CLASSES.astype("f2")}, "task: classification"),
    "undivided": ({**IMAGES, "x_train": PIXELS.astype("f4")}, "scale: 255"),
    "undivided colours": ({**IMAGES, "x_train": np.stack([PIXELS * 1.0] * 3, 3)}, "scale: 255"),
    "undivided 16 bits": ({**IMAGES, "x_train": PIXELS * 257.0}, "scale: 65535"),
    "16 levels": ({**IMAGES, "x_train": (PIXELS // 16).astype("u1")}, "scale: 15"),
    "black and white": ({**IMAGES, "x_train": (PIXELS // 128).astype("i8")}, "scale: 1"),
}
QUIET: dict[str, tuple[dict[str, Any], str]] = {
    "prices": ({**VECTORS, "y_train": RNG.normal(size=40)}, ""),
    "counts": ({**VECTORS, "y_train": np.arange(40) * 1.0}, ""),
    "years": ({**VECTORS, "y_train": 1990.0 + CLASSES}, ""),
    "two targets": ({**VECTORS, "y_train": np.stack([CLASSES, CLASSES], 1) * 1.5}, ""),
    "whole classes": ({**VECTORS, "y_train": CLASSES}, ""),
    "said to be numbers": ({**VECTORS, "y_train": CLASSES * 1.0}, "task: regression"),
    "said to be classes": ({**VECTORS, "y_train": CLASSES * 1.0}, "task: classification"),
    "divided": ({**IMAGES, "x_train": PIXELS / 255}, ""),
    "standardized": ({**IMAGES, "x_train": PIXELS / 64 - 2}, ""),
    "bytes": ({**IMAGES, "x_train": PIXELS}, ""),
    "a scale is given": ({**IMAGES, "x_train": PIXELS * 1.0}, "scale: 255"),
    "a divisor of 1": ({**IMAGES, "x_train": PIXELS * 1.0}, "scale: 1"),
    "booleans": ({**IMAGES, "x_train": PIXELS > 128}, ""),
}


def notes(folder: Path, arrays: dict[str, Any], keys: str = "") -> tuple[str, ...]:
    """Return the notes about data of `arrays`, read with `keys` of the scenario's `dataset`."""
    np.savez(folder / "own.npz", **digits(**arrays))
    key, _, value = keys.partition(": ")
    given: dict[str, Any] = {key: int(value) if value.isdigit() else value} if key else {}
    return datasets.describe(kept_data.resolved(OwnDataset(str(folder / "own.npz"), **given))).notes


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", NOTED)
def test_a_note_names_a_remedy_that_ends_it(name: str, tmp_path: Path, emulate: Emulate) -> None:
    arrays, remedy = NOTED[name]
    (note,) = notes(tmp_path, arrays)
    assert f"`{remedy}`" in note
    assert f"note: {note}" in emulate("data", "./own.npz", "--devices", 2).out
    assert notes(tmp_path, arrays, remedy) == ()


def test_check_warns_of_what_data_says_by_itself(tmp_path: Path) -> None:
    (note,) = notes(tmp_path, NOTED["16 levels"][0])
    warnings = misunderstood_parts(scenario(tmp_path, "./own.npz"))
    assert [str(warning) for warning in warnings] == [f"training.dataset: own.npz: {note}"]


@pytest.mark.parametrize("name", QUIET)
def test_data_that_can_be_meant_in_one_way_gets_no_note(name: str, tmp_path: Path) -> None:
    arrays, keys = QUIET[name]
    assert notes(tmp_path, arrays, keys) == ()


def test_a_model_for_classes_beside_targets_names_the_task(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **digits(y_train=CLASSES * 1.0, y_test=CLASSES[:20] * 1.0))
    (line,) = mistakes(tmp_path, "./own.npz")
    assert "with 1 target" in line and "`task: classification`" in line


def test_images_of_16_bits_are_read_by_their_scale(tmp_path: Path) -> None:
    levels = (PIXELS * 257).astype(np.uint16)
    np.savez(tmp_path / "own.npz", **digits(**{**IMAGES, "x_train": levels}))
    assert all("`scale: 65535`" in line for line in mistakes(tmp_path, "./own.npz"))
    kept = kept_data.resolved(OwnDataset(str(tmp_path / "own.npz"), scale=65535))
    train = datasets.load(kept).train
    assert train.inputs.dtype == np.uint16
    x, _ = train.batch(np.arange(len(train)))
    assert x.max() == pytest.approx(levels.max() / 65535, rel=1e-3)


@pytest.mark.slow
def test_data_prints_the_range_of_the_inputs(tmp_path: Path, emulate: Emulate) -> None:
    np.savez(tmp_path / "own.npz", **digits(x_train=np.full((40, 8, 8), 51, np.uint8)))
    assert "inputs: from 0.2 to 0.2" in emulate("data", "./own.npz").out
    assert emulate("data", "./own.npz", "--json").json["range"] == [0.2, 0.2]
