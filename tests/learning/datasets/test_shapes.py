"""The pictures that the emulator draws itself: always the same, and told apart by their shapes."""

from pathlib import Path

import numpy as np
import pytest

from emulator.learning import datasets
from emulator.learning.datasets import fetch
from emulator.learning.datasets.catalog import SHAPES
from emulator.learning.datasets.shapes import Drawing, draw


def test_the_same_name_is_the_same_pictures() -> None:
    pictures, classes = draw("train", 30)
    again, same = draw("train", 30)
    assert (again == pictures).all() and (same == classes).all()
    assert (draw("test", 30)[0] != pictures).any()
    assert pictures.shape == (30, 32, 32, 3)
    assert np.bincount(classes).tolist() == [3] * 10
    files = Drawing({"train": 30, "test": 9}).files(["train-images", "test-labels"])
    assert files["train-images"] == pictures.tobytes() and len(files["test-labels"]) == 9


def test_they_are_the_pictures_that_are_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their digests are in the catalogue: others would be refused."""
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path))
    said: list[str] = []
    fetch.fetch("shapes", said.append)
    assert said[0] == "shapes: from its own drawing"
    assert said[1].startswith("shapes: 10,000 + 2,000 images in ")
    train = datasets.load("shapes").train
    assert train.inputs.shape == (10_000, *SHAPES.task.shape)
    assert np.bincount(train.labels).tolist() == [1000] * 10


def test_a_class_is_no_colour() -> None:
    """The mean colour of a picture, which a linear model sees, tells nothing about its class."""
    pictures, classes = draw("train", 2000)
    means = pictures.mean(axis=(1, 2))
    for shape in range(10):
        inside, outside = means[classes == shape], means[classes != shape]
        spread = outside.std(axis=0) / np.sqrt(len(inside))
        assert (np.abs(inside.mean(axis=0) - outside.mean(axis=0)) < 4 * spread).all()
