"""Functions that return data: called once, in a process of their own, with their mistakes."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from emulator.learning import datasets
from emulator.learning.datasets.own import OwnDataset, kept_data
from emulator.learning.datasets.own.call_function import as_array, named
from emulator.learning.datasets.own.data_mistakes import DataMistakes
from emulator.learning.models.task import Task

from .given import mistakes, scenario

GOOD = """
import os
import numpy as np
from shapes import SHAPE

print("this is not part of any output")

def load():
    with open("calls", "a") as calls:
        calls.write(f"{os.getpid()} ")
    x = np.arange(40 * 64, dtype=np.uint8).reshape(40, *SHAPE)
    return (x, np.arange(40) % 10), (x[:20], np.arange(20) % 10)

def nan():
    x = np.full((9, 4), np.nan)
    return {"x_train": x, "y_train": np.arange(9) % 3, "writer": ["ann"] * 9}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "shapes.py").write_text("SHAPE = (8, 8)\n")
    (tmp_path / "data.py").write_text(GOOD)
    return tmp_path / "data.py"


@pytest.mark.slow
def test_a_function_is_called_once_for_each_content(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")  # the arrays may be larger than TMPDIR
    first = scenario(file.parent, "./data.py:load").training
    again = scenario(file.parent, "./data.py:load").training
    assert first == again
    data = datasets.load(first.dataset)
    assert first.data.task == Task("images", (8, 8), classes=10)
    assert (data.train.inputs.ravel() == np.arange(40 * 64, dtype=np.uint8)).all()
    calls = file.with_name("calls")
    assert len(calls.read_text().split()) == 1
    # a module beside the file is part of the content
    file.with_name("shapes.py").write_text("SHAPE = (8, 8)  # as before\n")
    changed = scenario(file.parent, "./data.py:load").training
    assert changed.dataset != first.dataset
    assert len(calls.read_text().split()) == 2


@pytest.mark.slow
def test_what_a_function_returns_is_checked_as_arrays_are(file: Path) -> None:
    found = mistakes(file.parent, "{file: './data.py:nan', owners: writer}")
    assert found[0].startswith("data.py:nan: x_train[0][0]: is nan: a finite number was expected")
    (found,) = mistakes(file.parent, "{file: './data.py:nan', owners: who}")
    assert "data.py:nan: has no array 'who' with the owners: it holds x_train, y_train" in found


def test_names_of_arrays_follow_from_their_order() -> None:
    x, y, a, b = (np.zeros(size) for size in (1, 2, 3, 4))
    whole = {"x_train": 1, "y_train": 2, "x_test": 3, "y_test": 4}
    for given in ((x, y, a, b), [(x, y), (a, b)], dict(zip(whole, (x, y, a, b), strict=True))):
        assert {name: len(array) for name, array in named(given)} == whole
    assert {name: len(array) for name, array in named((x, y))} == {"x_train": 1, "y_train": 2}


def test_lists_of_two_examples_are_no_pairs_of_arrays() -> None:
    inputs, labels = [[1, 2], [3, 4]], [0, 1]
    assert dict(named((inputs, labels))) == {"x_train": inputs, "y_train": labels}


@pytest.mark.parametrize(
    ("value", "address", "message"),
    [
        (np.ma.masked_greater([[1.0, 2], [9, 9]], 5), (1, 0), "is masked (one of 2 masked values)"),
        (np.ma.array([0, 1, 2], mask=[0, 0, 1]), (2,), "is masked: fill masked values, or leave"),
        ([np.ma.array([1, 2]), np.ma.array([1, 2], mask=[0, 1])], (1, 1), "is masked: fill"),
        ([[1], [2], [1, 2]], (2,), "has shape [2], and x[0] has [1]: all examples have one shape"),
        ([[1, 2], [[1], [1, 2]]], (1,), "holds lists of different lengths"),
        (np.array([[1], [2, 3]], dtype=object), (1,), "has shape [2], and x[0] has [1]"),
        ([["a", "b"], ["c", None]], (1, 1), "is None: numbers or text were expected"),
        ([1 << 70, 2], (), "mixes numbers and text, or has numbers beyond 64 bits"),
    ],
)
def test_values_that_are_no_numbers_are_named_by_their_place(
    value: object, address: tuple[int, ...], message: str
) -> None:
    mistakes = DataMistakes()
    assert as_array("x", value, "data.py:load", mistakes) is None
    (mistake,) = mistakes
    assert mistake.place == ("data.py:load", None, ("x", *address))
    assert mistake.message.startswith(message)


def test_an_array_that_masks_nothing_is_its_values() -> None:
    array = as_array("x", np.ma.array([1, 2]), "data.py:load", DataMistakes())
    assert type(array) is np.ndarray and array.tolist() == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def load():\n    return 1 / 0", "data.py:2: raises ZeroDivisionError: division by zero"),
        ("def load(:", "data.py:1: raises SyntaxError"),
        ("import no_such_module", "data.py:1: raises ModuleNotFoundError: No module named"),
        ("def laod(): pass", "data.py: has no 'load' (did you mean 'laod'?)"),
        ("load = 5", "data.py: 'load' is int, and no function"),
        (
            "def load(): return 1, 2, 3",
            "data.py:1: load returns 3 values: x_train, y_train, x_test",
        ),
        ("def load(): return None", "data.py:1: load returns NoneType: x_train, y_train, x_test"),
        ("def load(): return [{}], [1]", "data.py:load: x_train[0]: is of type dict: numbers or"),
        (
            "import os\ndef load(): os._exit(9)",
            "data.py:2: the process of load() ended with exit s",
        ),
        (
            "import os\ndef load(): os.abort()",
            "data.py:2: the process of load() was ended by SIGAB",
        ),
        ("def load(): return {'file': [1]}", "data.py:1: load returns an array named 'file'"),
        (
            "def load(): return {1: [1]}",
            "data.py:1: load returns an array named 1: a mapping's keys",
        ),
        (
            "\n\ndef load(path): pass",
            "data.py:3: raises TypeError: load() missing 1 required posit",
        ),
        ("def load(): raise SystemExit(3)", "data.py:1: raises SystemExit: 3"),
        ("def load(): raise KeyboardInterrupt", "data.py:1: raises KeyboardInterrupt (named by"),
        ("class E(BaseException): pass\nraise E('x' * 9999)", "data.py:2: raises E: xxxxxxxxxxxxx"),
    ],
)
def test_a_function_that_fails_is_named_with_its_line(
    tmp_path: Path, code: str, expected: str
) -> None:
    (tmp_path / "data.py").write_text(code)
    (found,) = mistakes(tmp_path, "./data.py:load")
    assert found.startswith(expected), found
    assert len(found) < 600


def test_a_missing_file_suggests_another(file: Path) -> None:
    (found,) = mistakes(file.parent, "./date.py:load")
    assert found.startswith("date.py: cannot be read: No such file or directory (did you mean 'dat")


@pytest.mark.slow
def test_a_mapping_names_the_function_too(file: Path) -> None:
    own = OwnDataset(f"{file}:load", classes=12)
    assert datasets.describe(kept_data.resolved(own)).task.classes == 12
