"""The generator of made-up data: its tasks, and that its data can be learnt."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from emulator.learning import datasets
from emulator.learning.datasets import Dataset
from emulator.learning.datasets.own import OwnDataset, kept_data
from emulator.learning.models.task import Task
from emulator.plugins import python_file
from tests.fakes.installing.doc_blocks import blocks
from tests.fakes.typed_commands import Emulate
from tests.layers import ROOT

MADE_UP = ROOT / "scenarios" / "own" / "made_up.py"


def made(name: str) -> tuple[Task, Dataset]:
    own = kept_data.resolved(OwnDataset(f"{MADE_UP}:{name}"))
    return datasets.describe(own).task, datasets.load(own)


@pytest.mark.slow
def test_texts_are_told_apart_by_the_ids_of_their_class() -> None:
    task, data = made("texts")
    assert task == Task("tokens", (40,), classes=4, vocabulary=500)
    counts = np.stack([(data.test.inputs // 20 == label).sum(1) for label in range(4)], 1)
    assert np.mean(counts.argmax(1) == data.test.labels) > 0.95
    assert len(data.test) == 1000


def test_prices_follow_from_the_numbers() -> None:
    task, data = made("houses")
    assert task == Task("vectors", (6,), targets=1)
    x, y = data.test.inputs, data.test.labels[:, 0]
    rule = x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + np.where(x[:, 3] > 0, 1, -1)
    assert 0.08 < np.std(y - rule) < 0.12 < 1 < np.std(y)


@pytest.mark.slow
def test_images_are_made_alike_each_time() -> None:
    images = python_file.load(str(MADE_UP) + ":images")
    first, again = images(), images()
    assert all((one == other).all() for one, other in zip(first, again, strict=True))
    assert (first[0].shape, first[0].dtype) == ((4000, 32, 32, 3), np.uint8)


@pytest.mark.slow
@pytest.mark.tensorflow
def test_the_documented_scenario_learns_the_images(emulate: Emulate, tmp_path: Path) -> None:
    page = ROOT / "docs" / "own-data.md"
    shutil.copy(MADE_UP, tmp_path)
    (model,) = (text for text in blocks(page, "python") if "keras" in text)
    (tmp_path / "network.py").write_text(model)
    (scenario,) = blocks(page, "yml")  # not `yaml`: a quick test reads those, without the network
    (tmp_path / "images.yaml").write_text(scenario)
    said = emulate("run", "images.yaml", "--on", "virtual")
    assert said.code == 0, said.err
    summary = json.loads((tmp_path / "runs/images/latest/summary.json").read_text())
    assert summary["best_accuracy"] > 0.8
