"""Texts from the data set to a device's score and to a fleet in virtual time."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from emulator.core.plan import WorkerPlan
from emulator.layout import Layout
from emulator.learning.datasets import SENTENCES, Dataset, shard
from emulator.learning.datasets.examples import Examples
from emulator.learning.datasets.formats import TEXTS, read_texts
from emulator.learning.datasets.grammar import Grammar
from emulator.learning.learners import device
from emulator.runs import data_split
from emulator.runs.data_split import DataSplit
from emulator.runtimes.virtual.learning.job_pool import ThreadTools
from emulator.runtimes.virtual.learning.prefetched_training import PrefetchedTraining
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import loads
from tests.fakes.virtual_world import Onlooker

SCENARIO = """
# Does it learn to spell?
name: spelling
seed: 1
training:
  {dataset: sentences, model: char-lstm, codec: dense, optimizer: adam, learning_rate: 0.003}
evaluate: {every: 250}
stop: {updates: 500}
virtual: {step: {lognormal: [10ms, 0.1]}, boot: 100ms}
devices:
  - {name: home, count: 2}
"""


@pytest.fixture
def sentences(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Return a few of the texts, as if fetched."""
    sizes = dict(zip(TEXTS, (5000, 250), strict=True))
    files = Grammar({name: 50 * size + 1 for name, size in sizes.items()}).files(TEXTS)
    arrays = read_texts(files)
    train, test = (
        Examples(arrays[f"{of}-texts"], arrays[f"{of}-labels"], SENTENCES.scale)
        for of in ("train", "test")
    )
    made = Dataset("sentences", train, test)
    monkeypatch.setattr(data_split.datasets, "load", lambda name: made)
    return made


@dataclass
class Spaces:
    """Always expects a space next, and is charged 2 for each character."""

    def evaluate(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[int, float]:
        assert x.shape == y.shape and x.shape[1] == 50
        return int(np.count_nonzero(y == 1)), 2.0 * y.size

    def gradient(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
        raise AssertionError("nobody learns here: only scores are asked for")


def test_accuracy_is_a_share_of_characters(
    sentences: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaces = np.count_nonzero(sentences.test.labels == 1) / sentences.test.labels.size
    assert 0.1 < spaces < 0.2
    monkeypatch.setattr(device, "GraphEvaluator", lambda folder: Spaces())
    shard.write(tmp_path, sentences.test)
    evaluator = device.DeviceEvaluator(tmp_path, tmp_path)
    assert evaluator.evaluate(np.zeros(1, np.float32)) == (spaces, 2.0, None)
    worker = WorkerPlan(seed=0, batch_size=1, codec={"kind": "dense"})
    tools = [ThreadTools(Spaces(), Spaces())]
    training = PrefetchedTraining(worker, Layout(()), DataSplit(sentences, {}), tools)
    assert training.evaluate(np.zeros(1, np.float32)) == (spaces, 2.0, None)
    training.close()


def test_texts_are_dealt_out_like_images(sentences: Dataset) -> None:
    split = data_split.split_data(loads(SCENARIO))
    assert [len(part) for part in split.parts.values()] == [2500] * 2
    assert len(np.unique(np.concatenate([*split.parts.values()]))) == 5000


@pytest.mark.tensorflow
def test_a_fleet_learns_to_spell(sentences: Dataset, tmp_path: Path) -> None:
    """Better than by the best guess from two characters, 62 %; that from the last one is 38 %."""
    view = Onlooker()
    _, summary = play(loads(SCENARIO), tmp_path, view)
    first, *_, last = (record for record in view.records if record["what"] == "evaluation")
    assert first["accuracy"] < 0.2
    assert first["loss"] == pytest.approx(math.log(32), rel=0.05)
    assert summary["final_accuracy"] == last["accuracy"] > 0.64
    assert last["loss"] < 1.2
