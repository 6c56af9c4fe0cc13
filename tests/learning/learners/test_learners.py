"""Learning without TensorFlow's Python package; `test_graphs.py` compares it with that package."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from emulator.errors import HostError
from emulator.learning.datasets.examples import Examples
from emulator.learning.learners import capi, export
from emulator.learning.learners.batches import Batches
from emulator.machine.installed import remedy
from tests.fakes.line_learner import Line


def examples(count: int) -> Examples:
    """Examples of a single pixel; the pixel's level is the example's number."""
    levels = np.arange(count, dtype=np.uint8)
    return Examples(levels.reshape(-1, 1, 1), levels % 10, scale=1)


def served(batches: Batches, count: int) -> np.ndarray:
    return np.concatenate([x[:, 0] for x, _ in islice(batches, count)])


def test_an_epoch_serves_each_example_once() -> None:
    batches = Batches(examples(40), 10, "7/adsl-0/batches/0")
    first, second = served(batches, 4), served(batches, 4)
    assert sorted(first) == sorted(second) == list(range(40))
    assert list(first) != list(second)


def test_an_epochs_remainder_is_served_in_the_next() -> None:
    batches = Batches(examples(25), 10, "any")
    counts = np.bincount(served(batches, 10).astype(int), minlength=25)
    assert counts.tolist() == [4] * 25
    assert {len(x) for x, _ in islice(batches, 9)} == {10}


def test_a_batchs_labels_are_its_images() -> None:
    for x, y in islice(Batches(examples(25), 10, "any"), 5):
        assert np.array_equal(x[:, 0] % 10, y)


def test_the_order_has_a_name() -> None:
    first, again, other = (Batches(examples(40), 10, name) for name in ("a", "a", "b"))
    order = served(first, 8)
    assert np.array_equal(order, served(again, 8))
    assert not np.array_equal(order, served(other, 8))


@pytest.mark.parametrize("size", [0, -1, 41])
def test_refuses_a_batch_that_the_shard_cannot_fill(size: int) -> None:
    with pytest.raises(ValueError, match=f"40 examples make no batch of {size}"):
        Batches(examples(40), size, "any")


def test_a_line_is_found_by_descent() -> None:
    line = Line("7/adsl-0/batches/0", size=20)
    weights = line.initial(7)
    assert weights.shape == (line.layout.size,) and weights.dtype == np.float32
    first = line.gradient(weights)[1]
    for _ in range(200):
        gradient, loss = line.gradient(weights)
        weights = weights - np.float32(0.1) * gradient
    assert gradient.dtype == np.float32
    assert loss < first / 1e6


def test_a_lines_gradient_is_that_of_its_loss() -> None:
    weights, step = np.ones(20, np.float32), np.zeros(20, np.float32)
    step[3] = 1e-2
    gradient, _ = Line("same", size=20).gradient(weights)
    above, below = (Line("same", size=20).gradient(weights + s)[1] for s in (step, -step))
    assert gradient[3] == pytest.approx((above - below) / 2e-2, rel=1e-2)


def test_lines_of_one_size_share_their_truth_and_not_their_data() -> None:
    ours, theirs = (Line(name, size=20) for name in ("a", "b"))
    zeros = ours.initial(0)
    assert not np.array_equal(ours.gradient(zeros)[0], theirs.gradient(zeros)[0])
    for _ in range(200):
        zeros = zeros - np.float32(0.1) * ours.gradient(zeros)[0]
    assert theirs.gradient(zeros)[1] < 1e-6


def test_a_missing_library_is_said_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMULATE_TENSORFLOW", str(tmp_path))
    with pytest.raises(HostError, match=rf"so\.2 is not in {tmp_path}: {remedy()}"):
        capi.folder()
    (tmp_path / capi.LIBRARY).write_bytes(b"no library")
    assert capi.folder() == tmp_path
    capi.library.cache_clear()
    try:
        with pytest.raises(HostError, match="cannot be opened"):
            capi.library()
    finally:
        capi.library.cache_clear()


def test_a_failed_export_says_what_tensorflow_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho out of memory >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(export, "tensorflow_version", lambda: "0")
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(HostError, match="could not export digits-mlp:\nout of memory"):
        export.exported("digits-mlp")
    assert list((tmp_path / "cache" / "graphs").iterdir()) == []


FILES = ("gradient.pb", "evaluation.pb", "graph.json", "layers.pb", "layers.json")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were exported into an empty cache, by something quicker than TensorFlow."""
    models: list[str] = []

    def export_quickly(model: str, folder: Path) -> None:
        models.append(model)
        folder.mkdir()
        for name in FILES:
            (folder / name).write_bytes(f"{name} of {model}".encode() * 40)

    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(export, "tensorflow_version", lambda: "0")
    monkeypatch.setattr(export, "_export", export_quickly)
    return models


DAMAGE = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[:-3],
    "another bit": lambda content: content[:5] + bytes([content[5] ^ 1]) + content[6:],
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [*FILES, export.SUMS])
def test_damaged_graphs_are_made_again_with_a_word(
    made: list[str], capsys: pytest.CaptureFixture[str], name: str, damage: str
) -> None:
    folder = export.exported("digits-mlp")
    sound = {file.name: file.read_bytes() for file in folder.iterdir()}
    (folder / name).write_bytes(DAMAGE[damage](sound[name]))
    assert capsys.readouterr().err == ""
    assert export.exported("digits-mlp") == folder
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == sound
    assert capsys.readouterr().err.startswith(f"emulate: {folder} is damaged (")
    assert export.exported("digits-mlp") == folder
    assert (made, capsys.readouterr().err) == (["digits-mlp"] * 2, "")
    assert list(folder.parent.iterdir()) == [folder]


def test_graphs_of_which_one_is_missing_are_made_again(
    made: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export.exported("digits-mlp")
    (folder / "evaluation.pb").unlink()
    assert (export.exported("digits-mlp") / "evaluation.pb").is_file()
    assert "(evaluation.pb is missing)" in capsys.readouterr().err


def test_a_cache_that_cannot_hold_graphs_is_said_with_its_remedy(
    made: list[str], tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("no folder")
    with pytest.raises(HostError, match=r"cannot keep graphs in .*: set EMULATE_CACHE to a folder"):
        export.exported("digits-mlp")


def test_a_device_imports_no_more_than_it_needs() -> None:
    """What is imported is paid in every container."""
    needless = {"tensorflow", "pydantic", "yaml", "docker", "ssl", "urllib.request", "tarfile"}
    code = f"import sys, emulator.learning.learners.device; print({needless!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
