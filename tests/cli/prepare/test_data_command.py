"""`emulate data FILE`: the split as a table, as JSON and as a picture, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.drawn_figures import kept
from tests.fakes.typed_commands import Emulate
from tests.learning.datasets.own.given import digits


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.savez(tmp_path / "own.npz", **digits(writer=np.arange(40) % 4))
    return tmp_path / "own.npz"


def test_a_split_is_printed_and_drawn(
    emulate: Emulate, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = kept(monkeypatch)
    said = emulate("data", "own.npz", "--split", "{kind: shards, per_device: 1}", "--devices", 4)
    assert said.code == 0
    assert "own.npz: 40 training and 20 test examples: images of 8 × 8, in 10 classes" in said.out
    assert "split shards over 4 devices, seed 0" in said.out
    rows = [line.split() for line in said.out.splitlines() if line.startswith("device-")]
    assert [row[1] for row in rows] == ["10"] * 4
    counts = np.array([row[2:] for row in rows], int)
    assert counts.shape == (4, 10) and (counts.sum(0) == 4).all()
    assert "figure: own-split.png" in said.out
    cells, bars = figures["own-split.png"].axes
    assert np.array_equal(cells.images[0].get_array(), counts)
    assert [bar.get_width() for bar in bars.patches] == [10] * 4
    devices = [f"device-{number}" for number in range(4)]
    assert [label.get_text() for label in cells.get_yticklabels()] == devices
    assert (cells.get_xlabel(), bars.get_xlabel()) == ("class", "training examples")


def test_json_has_every_count_and_the_digest(emulate: Emulate, file: Path) -> None:
    words = ("--set", "owners=writer", "--split", "owners", "--devices", 2, "--seed", 3, "--json")
    said = emulate("data", "./own.npz", *words)
    shown = json.loads(said.out)
    assert shown["task"]["says"] == "images of 8 × 8, in 10 classes"
    assert (shown["file"], shown["seed"]) == (str(file), 3)
    assert len(shown["sha256"]) == 64
    assert shown["columns"] == [str(label) for label in range(10)]
    counts = np.array([device["counts"] for device in shown["devices"].values()])
    assert (counts.sum(0) == 4).all()
    assert sum(device["examples"] for device in shown["devices"].values()) == 40
    assert not list(file.parent.glob("*.png"))


@pytest.mark.slow
def test_a_scenario_shows_its_own_devices(emulate: Emulate, file: Path) -> None:
    file.with_name("lab.yaml").write_text(
        "name: lab\ntraining: {dataset: ./own.npz, model: digits-mlp, algorithm: asgd}\n"
        "stop: {updates: 5}\ndevices: [{name: home, count: 2}, {name: far}]\n"
    )
    said = emulate(
        "data", "lab.yaml", "--split", "{kind: quantity, alpha: 100}", "--figure", "a.png"
    )
    assert said.code == 0 and "figure: a.png" in said.out
    rows = [line.split()[:2] for line in said.out.splitlines() if line.startswith(("home", "far"))]
    assert [name for name, _ in rows] == ["home-0", "home-1", "far"]
    assert sum(int(examples) for _, examples in rows) == 40


@pytest.mark.slow
def test_targets_are_shown_by_range(emulate: Emulate, tmp_path: Path) -> None:
    x = np.arange(80.0).reshape(40, 2)
    np.savez(tmp_path / "prices.npz", x_train=x, y_train=x[:, 0], x_test=x, y_test=x[:, 0])
    said = emulate("data", "prices.npz", "--devices", 2)
    assert "0 … 15.6" in said.out and "with 1 target" in said.out
    assert emulate("data", "prices.npz", "--split", "shards").code == 2


@pytest.mark.slow
def test_a_device_without_an_example_is_named(emulate: Emulate, file: Path) -> None:
    said = emulate("data", "own.npz", "--split", "{kind: dirichlet, alpha: 0.01}", "--devices", 30)
    assert said.code == 2
    assert "more without an example: take fewer devices or another split" in said.err
    assert "device-29" in said.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("own.npz", "--set", "clases=3"), "--set clases=3: clases: no such key (did you mean 'c"),
        (("own.npz", "--set", "classes=9"), "own.npz: y_train[9]: is 9: a class is a whole number"),
        (
            ("own.npz", "--split", "shard"),
            "--split shard: 'shard' (did you mean 'shards'?) is not iid or",
        ),
        (("own.npz", "--split", "owners"), "training.split: owners goes by the owner of an exa"),
        (("other.npz",), "other.npz: cannot be read: No such file or directory"),
        (("own.txt",), "'own.txt' is not mnist or fashion-mnist or digits or shapes or sentences,"),
        (("own.npz", "mnist"), "one NAME or FILE is shown at a time, not 2"),
        (("own.npz", "--figure", "a.jpg"), "'a.jpg' must end in .png"),
        (("digits", "--set", "scale=3"), "--set and --again are for data of your own"),
    ],
)
def test_a_wrong_command_is_refused(
    emulate: Emulate, file: Path, words: tuple[str, ...], expected: str
) -> None:
    said = emulate("data", *words)
    assert said.code == 2
    assert expected in said.err.replace(f"{file.parent}/", ""), said.err
    assert not list(file.parent.glob("*.png"))


@pytest.mark.slow
def test_data_are_read_again_on_request(emulate: Emulate, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(40.0).reshape(20, 2))
    (tmp_path / "data.py").write_text(
        "import numpy as np\ndef load(): return np.load('x.npy'), np.arange(20) % 2\n"
    )
    assert "vectors of 2" in emulate("data", "./data.py:load").out
    np.save(tmp_path / "x.npy", np.arange(60.0).reshape(20, 3))
    assert "vectors of 2" in emulate("data", "./data.py:load").out
    assert "vectors of 3" in emulate("data", "./data.py:load", "--again").out
