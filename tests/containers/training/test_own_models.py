"""Containers that train Keras models of a user on data of a user, each with a split of its own:
each learns above chance."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from emulator.plugins import python_file
from tests.containers.conftest import Outcome
from tests.layers import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.timeout(240)]

OWN = ROOT / "scenarios" / "own"

SAME = 10
"""First losses of a device that are compared; later ones drift apart by rounding."""

SCENARIO = """
name: own
training: {{dataset: {dataset}, model: {model}, optimizer: adam, learning_rate: {rate},
           batch_size: 20, {more}}}
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
    """Write houses of five agents to a table in Parquet, and the test to a table in CSV."""
    x, price, x_test, price_test = python_file.load(f"{OWN}/made_up.py:houses")()
    for file, rows, costs in (("houses.parquet", x, price), ("test.csv", x_test, price_test)):
        table = pd.DataFrame(rows, columns=[f"x{column}" for column in range(x.shape[1])])
        table["price"] = costs
        table["agent"] = [f"agent-{row % 5}" for row in range(len(table))]
        write = table.to_parquet if file.endswith("parquet") else table.to_csv
        write(folder / file, index=False)
    (folder / "prices.py").write_text(PRICES)
    return folder


def texts(folder: Path) -> Path:
    """Write the texts to an archive of arrays."""
    names = ("x_train", "y_train", "x_test", "y_test")
    made = python_file.load(f"{OWN}/made_up.py:texts")()
    np.savez(folder / "texts.npz", **dict(zip(names, made, strict=True)))
    return folder / "texts.npz"


def scenario(dataset: object, model: object, rate: float, updates: int, more: str) -> str:
    return SCENARIO.format(dataset=dataset, model=model, rate=rate, updates=updates, more=more)


def images(folder: Path) -> Path:
    """Write the images to a folder for each class."""
    x_train, y_train, x_test, y_test = python_file.load(f"{OWN}/made_up.py:images")()
    for part, x, y in (("train", x_train, y_train), ("test", x_test[:300], y_test[:300])):
        for number, (pixels, label) in enumerate(zip(x, y, strict=True)):
            place = folder / "images" / part / str(label)
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(place / f"{number}.bmp")
    return folder / "images"


def losses(run, device):
    return [update["loss"] for update in run.said("update", node=device)][:SAME]


def test_own_models_learn_own_data(play_together, emulate, tmp_path):
    priced = houses(tmp_path)
    tables = f"file: {priced}/houses.parquet, test_file: {priced}/test.csv"
    table = f"{{{tables}, label: price, owners: agent}}"
    loss = f"algorithm: asgd, split: owners, loss: {priced}/prices.py:huber"
    drawn = f"{OWN}/made_up.py:images"
    layers = "algorithm: asgd, schedule: layer-by-layer, split: {kind: quantity, alpha: 2}"
    shards = "algorithm: bsp, split: {kind: shards, per_device: 8}"
    mixed = "algorithm: asgd, split: {kind: dirichlet, alpha: 2}"
    noisy = scenario(drawn, f"{OWN}/models.py:cnn", 0.003, 600, shards)
    runs = play_together(
        noisy,
        scenario(images(tmp_path), f"{OWN}/models.py:mobile", 0.002, 400, mixed),
        scenario(texts(tmp_path), f"{OWN}/models.py:text", 0.01, 400, layers),
        scenario(table, f"{priced}/prices.py:network", 0.01, 400, loss),
    )
    assert {run.summary["outcome"] for run in runs} == {"success"}
    *classified, regression = (run.summary for run in runs)
    cnn, mobile, text = (summary["final_accuracy"] for summary in classified)
    assert min(cnn, mobile) > 0.3  # of ten classes
    assert text > 0.7  # of four classes
    assert regression["final_accuracy"] is None
    first = runs[-1].said("evaluation")[0]["error"]
    assert regression["final_error"] < 0.5 * first
    # Dropout draws alike in virtual time
    (tmp_path / "noisy.yaml").write_text(noisy)
    changes = (f"stop.updates={2 * SAME}", "virtual.step=10ms", "virtual.boot=1s")
    options = [word for change in changes for word in ("--set", change)]
    told = emulate("run", "noisy.yaml", "--on", "virtual", "--json", "--no-report", *options)
    virtual = Outcome(json.loads(told.stdout))
    for device in ("home-0", "home-1"):
        assert losses(runs[0], device) == pytest.approx(losses(virtual, device), rel=1e-3)
