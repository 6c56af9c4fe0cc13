"""Containers that train Keras models of a user on data of a user: each learns above chance."""

import csv
from pathlib import Path

import numpy as np
import pytest

from emulator.plugins import python_file
from tests.containers.conftest import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.beside, pytest.mark.timeout(240)]

OWN = ROOT / "scenarios" / "own"

SCENARIO = """
name: own
training: {{dataset: {dataset}, model: {model}, algorithm: asgd, optimizer: adam,
           learning_rate: {rate}, batch_size: 20{more}}}
evaluate: {{every: {updates}}}
stop: {{updates: {updates}, time: 100s}}
devices:
  - {{name: home, count: 2}}
"""

PRICES = """
import keras, tensorflow as tf


def network():
    layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input((6,)), *layers])


def huber(y_true, y_pred):
    return keras.losses.huber(y_true, y_pred)
"""


def houses(folder: Path) -> Path:
    """Write houses of five agents to a table; the test is a fifth of them."""
    x, price, *_ = python_file.load(f"{OWN}/made_up.py:houses")()
    with (folder / "houses.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*(f"x{column}" for column in range(x.shape[1])), "price", "agent"])
        rows.writerows(
            [*row, cost, f"agent-{n % 5}"]
            for n, (row, cost) in enumerate(zip(x, price, strict=True))
        )
    (folder / "prices.py").write_text(PRICES)
    return folder


def texts(folder: Path) -> Path:
    """Write the texts to an archive of arrays."""
    names = ("x_train", "y_train", "x_test", "y_test")
    made = python_file.load(f"{OWN}/made_up.py:texts")()
    np.savez(folder / "texts.npz", **dict(zip(names, made, strict=True)))
    return folder / "texts.npz"


def scenario(dataset: object, model: object, rate: float, updates: int, more: str = "") -> str:
    return SCENARIO.format(dataset=dataset, model=model, rate=rate, updates=updates, more=more)


def test_own_models_learn_own_data(play_together, tmp_path):
    priced = houses(tmp_path)
    table = f"{{file: {priced}/houses.csv, label: price, owners: agent}}"
    loss = f", split: owners, loss: {priced}/prices.py:huber"
    images = f"{OWN}/made_up.py:images"
    runs = play_together(
        scenario(images, f"{OWN}/models.py:cnn", 0.003, 400),
        scenario(images, f"{OWN}/models.py:mobile", 0.003, 400),
        scenario(texts(tmp_path), f"{OWN}/models.py:text", 0.01, 400),
        scenario(table, f"{priced}/prices.py:network", 0.01, 400, loss),
    )
    assert {run.summary["outcome"] for run in runs} == {"success"}
    *classified, regression = (run.summary for run in runs)
    cnn, mobile, text = (summary["final_accuracy"] for summary in classified)
    assert min(cnn, mobile) > 0.5  # of ten classes
    assert text > 0.7  # of four classes
    assert regression["final_accuracy"] is None
    first = runs[-1].said("evaluation")[0]["error"]
    assert regression["final_error"] < 0.5 * first
