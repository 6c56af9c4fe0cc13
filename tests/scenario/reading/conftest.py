"""The folder of the files that keys name."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from emulator.learning.models import MODELS, saved_model
from tests.scenario.reading.file_keys import FILES, LINE


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "lab"
    (folder / "bw").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for name in ("1.csv", "2.csv", "10.csv"):
        (folder / "bw" / name).write_text(LINE)
    layout = MODELS["digits-mlp"].layout
    theta = np.zeros(layout.size, np.float32)
    saved_model.write(folder / "model.npz", saved_model.SavedModel(theta, 0, layout))
    here = Path.cwd()
    # the export of an own model needs TensorFlow
    own = "emulator.scenario.reading.data_and_model_files.own_model"
    loss = "emulator.scenario.reading.training_checks._check_loss"  # the stand-in takes no loss
    with (
        patch(own, lambda *_: MODELS["digits-mlp"]),
        patch(loss, lambda *_: None),
        patch.dict(os.environ),
    ):
        os.environ["EMULATE_CACHE"] = str(tmp_path / "cache")
        yield folder
    os.chdir(here)
