"""Scenarios and files of the tests of data of one's own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, load

RNG = np.random.default_rng(0)


def scenario(
    folder: Path, dataset: str, *, model: str = "digits-mlp", split: str = "iid", count: int = 2
) -> Scenario:
    """Return the scenario in `folder` that trains `model` on `dataset`, which is YAML."""
    file = folder / "scenario.yaml"
    file.write_text(
        "name: own\n"
        f"training: {{dataset: {dataset}, model: {model}, split: {split}, algorithm: asgd}}\n"
        "stop: {updates: 10}\n"
        f"devices: [{{name: d, count: {count}}}]\n"
    )
    return load(file)


def mistakes(folder: Path, dataset: str, **keys: Any) -> list[str]:
    """Return the mistakes of the scenario, without their folder."""
    with pytest.raises(ScenarioError) as refused:
        scenario(folder, dataset, **keys)
    return str(refused.value).replace(f"{folder}/", "").splitlines()


def digits(**other: Any) -> dict[str, Any]:
    """Return small arrays of images in 10 classes; `other` replaces or adds arrays."""
    arrays = {
        "x_train": RNG.integers(0, 256, (40, 8, 8), np.uint8),
        "y_train": np.arange(40) % 10,
        "x_test": RNG.integers(0, 256, (20, 8, 8), np.uint8),
        "y_test": np.arange(20) % 10,
    }
    return {name: array for name, array in (arrays | other).items() if array is not None}
