"""Data of one's own in npz files: what is read, how it is stored, and what is refused."""

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.errors import DataError
from emulator.learning import datasets
from emulator.learning.datasets.own import OwnDataset, kept_data
from emulator.learning.models.task import Task
from emulator.scenario import loads
from emulator.scenario.reading.dump import dump

from .given import RNG, digits, mistakes, scenario


def own(folder: Path, arrays: dict[str, Any], **keys: Any) -> OwnDataset:
    """Return a resolved data set of `arrays`, with the `keys` of its mapping."""
    np.savez(folder / "own.npz", **arrays)
    return kept_data.resolved(OwnDataset(str(folder / "own.npz"), **keys))


def test_a_scenario_trains_on_an_npz_file(tmp_path: Path) -> None:
    arrays = digits()
    np.savez(tmp_path / "own.npz", **arrays)
    training = scenario(tmp_path, "./own.npz").training
    data = datasets.load(training.dataset)
    assert training.data.task == Task("images", (8, 8), classes=10)
    assert training.data.sizes == {"train": 40, "test": 20}
    assert (data.train.inputs == arrays["x_train"]).all()
    assert data.train.inputs.dtype == data.train.labels.dtype == np.uint8
    assert (data.test.labels == arrays["y_test"]).all()
    assert data.train.scale == 255


def test_a_resolved_scenario_plays_from_the_cache_alone(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **digits())
    written = scenario(tmp_path, "./own.npz")
    (tmp_path / "own.npz").unlink()
    assert loads(dump(written)) == written
    assert len(datasets.load(written.training.dataset).train) == 40


def test_a_changed_file_is_refused_by_a_scenario_that_pins_it(tmp_path: Path) -> None:
    old = own(tmp_path, digits())
    new = own(tmp_path, digits())
    assert old != new
    pinned = f"{{file: ./own.npz, sha256: {old.sha256}}}"
    assert scenario(tmp_path, pinned).training.dataset == old  # the cache has the old examples
    (found,) = mistakes(tmp_path, f"{{file: ./own.npz, sha256: {'f' * 64}}}")
    assert "own.npz: has SHA-256 " in found and "it has changed since" in found


def test_damage_in_the_cache_is_noticed(tmp_path: Path) -> None:
    kept = own(tmp_path, digits())
    (array,) = tmp_path.glob("cache/own-data/*/train-labels.npy")
    content = array.read_bytes()
    array.write_bytes(content[:-1] + b"\x07")
    with pytest.raises(DataError, match=r"train-labels\.npy is damaged"):
        datasets.load(kept)
    array.write_bytes(content[:-1])
    assert kept_data.resolved(kept) == kept  # made again
    assert array.read_bytes() == content


@pytest.mark.parametrize(
    ("arrays", "keys", "task", "dtype"),
    [
        ({"x": (9, 5, 5, 3), "of": np.uint8}, {}, Task("images", (5, 5, 3), classes=3), "uint8"),
        ({"x": (9, 5, 5), "of": np.int64}, {}, Task("images", (5, 5), classes=3), "uint8"),
        ({"x": (9, 5, 5), "of": float}, {}, Task("images", (5, 5), classes=3), "float32"),
        ({"x": (9, 4), "of": float}, {}, Task("vectors", (4,), classes=3), "float32"),
        (
            {"x": (9, 4), "of": int},
            {"inputs": "vectors"},
            Task("vectors", (4,), classes=3),
            "float32",
        ),
        (
            {"x": (9, 6), "of": int},
            {"vocabulary": 300},
            Task("tokens", (6,), classes=3, vocabulary=300),
            "uint16",
        ),
        (
            {"x": (9, 4), "of": float, "y": RNG.normal(size=9)},
            {},
            Task("vectors", (4,), targets=1),
            "float32",
        ),
        (
            {"x": (9, 4), "of": float, "y": np.arange(18).reshape(9, 2)},
            {"task": "regression"},
            Task("vectors", (4,), targets=2),
            "float32",
        ),
        (
            {"x": (9, 4), "of": int, "y": np.arange(36).reshape(9, 4) % 12},
            {},
            Task("texts", (4,), classes=250),
            "uint8",
        ),
        (
            {"x": (9, 4), "of": float, "y": np.array(list("cabcabcab"))},
            {},
            Task("vectors", (4,), classes=3),
            "float32",
        ),
        (
            {"x": (9, 4), "of": float, "y": np.array([b"c", b"a", b"b"] * 3)},
            {},
            Task("vectors", (4,), classes=3),
            "float32",
        ),
        (
            {"x": (9, 4), "of": float, "y": np.arange(9).reshape(9, 1) % 3},
            {"classes": 7},
            Task("vectors", (4,), classes=7),
            "float32",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, Task) else None,
)
def test_the_task_follows_from_shape_and_type(
    tmp_path: Path, arrays: dict[str, Any], keys: dict[str, Any], task: Task, dtype: str
) -> None:
    x = RNG.integers(0, 250, arrays["x"]).astype(arrays["of"])
    x.flat[0] = 249
    y = arrays.get("y", np.arange(9) % 3)
    given = {"x_train": x, "y_train": y, "x_test": x[:4], "y_test": y[:4]}
    kept = own(tmp_path, given, **keys)
    data = datasets.load(kept)
    assert datasets.describe(kept).task == task
    assert data.train.inputs.dtype == dtype
    batch, labels = data.train.batch(slice(3))
    assert batch.shape == (3, task.values) and labels.shape == (3, *task.answers)
    assert np.allclose(batch * data.train.scale, x[:3].reshape(3, -1), rtol=1e-6)
    if task.regression:
        assert np.allclose(labels, np.reshape(y, (9, -1))[:3])
    if y.dtype.kind in "US":
        assert data.class_names == ("a", "b", "c")
        assert labels.tolist() == [2, 0, 1]


def test_examples_are_held_out_for_the_test_alike_for_every_seed(tmp_path: Path) -> None:
    arrays = digits(x_test=None, y_test=None)
    kept = own(tmp_path, arrays, test=datasets.own.own_dataset.Fraction(0.3))
    data = datasets.load(kept)
    assert (len(data.train), len(data.test)) == (28, 12)
    assert data.rows is not None
    assert (data.train.inputs == arrays["x_train"][data.rows]).all()
    held_out = np.delete(arrays["x_train"], data.rows, 0)
    assert (data.test.inputs == held_out).all()
    again = datasets.load(kept_data.resolved(replace(kept, sha256=None), again=True))
    assert (again.rows == data.rows).all()


# ---------------------------------------------------------------- refused

NAN = RNG.normal(size=(40, 4))
NAN[7, 2] = np.nan
NAN[[9, 11, 12, 13], 0] = np.inf
ODD = np.arange(40) % 10
ODD[5] = -1
FRACTIONS = np.arange(40) % 10 + 0.5


@pytest.mark.parametrize(
    ("arrays", "keys", "expected"),
    [
        (
            {"y_train": np.arange(39) % 10},
            "",
            [
                "own.npz: y_train: has 39 labels for 40 inputs (named by scenario.yaml:2: "
                "training.dataset)"
            ],
        ),
        ({"x_test": None}, "", ["own.npz: has no array 'x_test': it holds x_train, y_train, y_t"]),
        (
            {"x_train": NAN, "x_test": NAN[20:]},
            "",
            [
                "own.npz: x_train[7][2]: is nan: a finite number was expected (named",
                "own.npz: x_train[9][0]: is inf: a finite number was exp",
                "own.npz: x_train[11][0]: is inf: a finite number was expected (and 2 mo",
            ],
        ),
        (
            {"x_train": NAN, "x_test": NAN[20:], "y_train": ODD, "y_test": np.arange(20)},
            "classes: 10",
            [
                *("own.npz: x_train[7]", "own.npz: x_train[9]", "own.npz: x_train[11]"),
                "own.npz: y_train[5]: is -1: a class is a whole number from 0 up",
            ],
        ),
        (
            {"y_test": np.arange(20)},
            "",
            [
                "own.npz: y_test[10]: is 10: the training set has the classes 0 to 9",
                "own.npz: y_test[11]: is 11: the",
                "own.npz: y_test[12]: is 12: the training set has the classes 0 to 9 (and 7 more",
            ],
        ),
        (
            {},
            "classes: 9",
            [
                *(f"own.npz: y_train[{row}]: is 9: a class is a whole n" for row in (9, 19, 29)),
                *(f"own.npz: y_test[{row}]: is 9: a class is a whole n" for row in (9, 19)),
            ],
        ),
        (
            {"y_train": np.arange(40) % 10 + 1, "y_test": np.arange(20) % 10 + 1},
            "",
            [
                "own.npz: y_train: has no example of 1 of the classes 0 to 10 (0): number the "
                "classes from 0, or write `classes: 11`"
            ],
        ),
        (
            {"y_train": FRACTIONS, "y_test": FRACTIONS[:20]},
            "task: classification",
            [
                f"own.npz: y_{part}[{row}]: is {row}.5: a class is a whole number from 0 up"
                for part in ("train", "test")
                for row in range(3)
            ],
        ),
        (
            {"y_train": np.eye(10)[np.arange(40) % 10].astype(int)},
            "",
            [
                "own.npz: y_train: has shape [40, 10], and a class for each example was expected: "
                "if it is one-hot"
            ],
        ),
        (
            {"y_train": np.eye(10)[np.arange(40) % 10]},
            "",
            ["own.npz: y_train: is one-hot: store the numbers of the classes, `argmax(1)`; if"],
        ),
        (
            {"writer": np.array([b"\xff"] * 40)},
            "owners: writer",
            [r"own.npz: writer: holds bytes that are no text in UTF-8: b'\xff'"],
        ),
        (
            {"x_train": np.array([{"an": "object"}] * 40)},
            "",
            [
                "own.npz: x_train: holds Python objects (a pickle), which could run any code and "
                "are never read"
            ],
        ),
        (
            {"x_train": np.array(["a"] * 40)},
            "",
            ["own.npz: x_train: holds text: numbers were expected"],
        ),
        (
            {"x_train": np.zeros((0, 8, 8)), "y_train": np.zeros(0, int)},
            "",
            ["own.npz: x_train: has no example"],
        ),
        (
            {"x_test": np.zeros((20, 9, 8), np.uint8)},
            "",
            ["own.npz: x_test: has inputs of shape [9, 8], and the training set has [8, 8]"],
        ),
        (
            {"x_train": np.full((40, 8, 8), 300)},
            "",
            [
                "own.npz: x_train[0][0][0]: is 300: images of whole numbers have levels from",
                "own.npz: x_train[1]",
                "own.npz: x_train[2]",
            ],
        ),
        (
            {"x_train": np.full((40, 8), -5), "x_test": np.full((20, 8), 5)},
            "vocabulary: 5",
            [
                *(f"own.npz: x_train[{row}][0]: is -5: a token id is" for row in range(3)),
                *(f"own.npz: x_test[{row}][0]: is 5: a token id is a whole" for row in range(3)),
            ],
        ),
        (
            {},
            "inputs: vectors",
            [
                f"own.npz: x_{part}: has shape [{count}, 8, 8]: vectors have [examples, numbers]"
                for part, count in (("train", 40), ("test", 20))
            ],
        ),
        ({}, "owners: writer", ["own.npz: has no array 'writer' with the owners: it holds x_tr"]),
        (
            {"writer": np.array(["ann", ""] * 20)},
            "owners: writer",
            [f"own.npz: writer[{row}]: is empty: an owner was expected" for row in (1, 3, 5)],
        ),
    ],
)
def test_a_mistake_is_named_with_its_array_and_row(
    tmp_path: Path, arrays: dict[str, Any], keys: str, expected: list[str]
) -> None:
    np.savez(tmp_path / "own.npz", allow_pickle=True, **digits(**arrays))
    found = mistakes(tmp_path, f"{{file: ./own.npz, {keys}}}")
    assert len(found) == len(expected), found
    for line, beginning in zip(sorted(found), sorted(expected), strict=True):
        assert line.startswith(beginning), line
    assert not list(tmp_path.glob("cache/own-data/*/about.json"))


def test_mistakes_in_data_and_scenario_are_reported_together(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **digits(y_train=np.arange(39)))
    found = mistakes(tmp_path, "./own.npz", split="iidd", model="digits-mpl")
    assert [line.split(": ")[1] for line in found] == [
        "training.model",
        "training.split",
        "y_train",
    ]


def test_data_must_fit_the_model(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **digits(y_train=np.arange(40) % 12))
    assert mistakes(tmp_path, "./own.npz") == [
        "scenario.yaml:2: training.model: 'digits-mlp' takes images of 8 × 8, in 10 classes; "
        "'own.npz' has images of 8 × 8, in 12 classes: no model that is shipped takes it"
    ]


def test_a_split_by_class_needs_classes(tmp_path: Path) -> None:
    x = RNG.normal(size=(40, 4))
    np.savez(tmp_path / "own.npz", x_train=x, y_train=x[:, 0])
    found = mistakes(tmp_path, "./own.npz", split="dirichlet")
    assert "scenario.yaml:2: training.split: 'dirichlet' needs classes, and the" in found[-1]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "own.npz: is no npz file: "),
        (b"PK\x03\x04 not a zip", "own.npz: is no npz file: "),
        (b"\x80\x04K\x01.", "own.npz: is no npz file: "),
        (None, "own.npz: cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_is_no_archive_is_refused(
    tmp_path: Path, content: bytes | None, expected: str
) -> None:
    if content is not None:
        (tmp_path / "own.npz").write_bytes(content)
    (found,) = mistakes(tmp_path, "./own.npz")
    assert found.startswith(expected)


def test_an_archive_that_claims_more_than_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    """A header of a few bytes claims 2^40 numbers of zeros."""
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        array, {"descr": "|u1", "fortran_order": False, "shape": (1 << 40, 8, 8)}
    )
    with zipfile.ZipFile(tmp_path / "own.npz", "w") as archive:
        for name in digits():
            archive.writestr(f"{name}.npy", array.getvalue())
    found = mistakes(tmp_path, "./own.npz")
    assert len(found) == 4 and all("cannot be read" in line for line in found)


def test_a_file_in_an_archive_that_is_no_array_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **digits(x_train=None))
    with zipfile.ZipFile(tmp_path / "own.npz", "a") as archive:
        archive.writestr("x_train.npy", b"text")
    (found,) = mistakes(tmp_path, "./own.npz")
    assert found.startswith("own.npz: x_train: is no array, as np.savez writes them")


def test_an_unknown_key_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **digits())
    (found,) = mistakes(tmp_path, "{file: ./own.npz, lable: y}")
    assert "training.dataset.lable: no such key (did you mean 'label'?)" in found
