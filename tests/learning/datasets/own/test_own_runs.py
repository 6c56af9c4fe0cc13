"""Runs on data of one's own: the same records as on the same bytes by name, and exit code 2."""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from emulator.learning.datasets import DATASETS, store
from emulator.learning.datasets.catalog import Description
from tests.fakes.typed_commands import Emulate

from .given import digits

SCENARIO = """
name: {name}
training: {{dataset: {dataset}, model: digits-mlp, split: {split}, algorithm: asgd}}
stop: {{updates: 20}}
virtual: {{step: 10ms, boot: 1s, learner: numpy}}
devices: [{{name: d, count: 2}}]
"""


@pytest.mark.slow
def test_a_run_is_that_on_the_same_bytes_by_name(emulate: Emulate, tmp_path: Path) -> None:
    arrays = digits()
    np.savez(tmp_path / "own.npz", **arrays)
    (tmp_path / "who.txt").write_text("ann\nbob\n" * 20)
    names = ("train-images", "train-labels", "test-images", "test-labels")
    shipped = dict(zip(names, (array.astype(np.uint8) for array in arrays.values()), strict=True))
    described = Description(
        "digits",
        DATASETS["digits"].task,
        255,
        {"train": 40, "test": 20},
        {part: store.digest(array) for part, array in shipped.items()},
    )
    store.save("digits", shipped)
    for name, dataset in (("own", "./own.npz"), ("ours", "digits")):
        split = "{kind: owners, file: ./who.txt}"
        text = SCENARIO.format(name=name, dataset=dataset, split=split)
        (tmp_path / f"{name}.yaml").write_text(text)
    before, DATASETS["digits"] = DATASETS["digits"], described
    try:
        assert emulate("run", "own.yaml", "--on", "virtual").code == 0
        assert emulate("run", "ours.yaml", "--on", "virtual").code == 0
    finally:
        DATASETS["digits"] = before
    own, ours = (tmp_path / f"runs/{name}/latest" for name in ("own", "ours"))
    assert (own / "run.jsonl").read_bytes() == (ours / "run.jsonl").read_bytes()
    manifest = json.loads((own / "manifest.json").read_text())
    file = tmp_path / "own.npz"
    digest = sha256(file.read_bytes()).hexdigest()
    assert manifest["data"] == {"file": str(file), "sha256": digest}
    assert manifest["owners"]["sha256"] == sha256(b"ann\nbob\n" * 20).hexdigest()
    assert "data" not in json.loads((ours / "manifest.json").read_text())
    # the run's own scenario plays from the cache, also without the file
    file.unlink()
    assert emulate("run", own / "scenario.yaml", "--on", "virtual").code == 0


def test_wrong_data_end_with_exit_code_2_and_start_nothing(
    emulate: Emulate, tmp_path: Path
) -> None:
    np.savez(tmp_path / "own.npz", **digits(y_train=np.arange(39)))
    (tmp_path / "own.yaml").write_text(
        SCENARIO.format(name="own", dataset="./own.npz", split="iid")
    )
    for command in (("check",), ("run",), ("run", "--on", "virtual")):
        said = emulate(command[0], "own.yaml", *command[1:])
        assert said.code == 2
        assert "own.npz: y_train: has 39 labels for 40 inputs" in said.err
    np.savez(tmp_path / "own.npz", **digits())
    file = tmp_path / "own.yaml"
    file.write_text(file.read_text().replace("count: 2", "count: 50"))
    said = emulate("run", "own.yaml", "--on", "virtual")
    assert said.code == 2
    assert "iid leaves d-0 (0), d-1 (0), d-2 (0) and 47 more without a batch of 10" in said.err
    assert not (tmp_path / "runs").exists()
