"""Functions that return data: called once, in a process of their own, with their mistakes."""

from pathlib import Path

import numpy as np
import pytest

from emulator import datasets
from emulator.datasets.own import OwnDataset, kept_data
from emulator.datasets.own.call_function import named
from emulator.models.task import Task

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


def test_a_function_is_called_once_for_each_content(file: Path) -> None:
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


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def load():\n    return 1 / 0", "data.py:2: raises ZeroDivisionError: division by zero"),
        ("def load(:", "data.py:1: raises SyntaxError"),
        ("import no_such_module", "data.py:1: raises ModuleNotFoundError: No module named"),
        ("def laod(): pass", "data.py: has no 'load' (did you mean 'laod'?)"),
        ("load = 5", "data.py: 'load' is int, and no function"),
        ("def load(): return 1, 2, 3", "data.py: load returns 3 values: x_train, y_train, x_test"),
        ("def load(): return None", "data.py: load returns NoneType: x_train, y_train, x_test"),
        ("def load(): return [{}], [1]", "data.py: load returns x_train as objects: numbers or"),
        ("def load(): return [[1], [1, 2]], [1]", "data.py: load returns x_train, which is no ar"),
        ("import os\ndef load(): os._exit(9)", "data.py: its process ended with exit status 9"),
        ("def load(): raise SystemExit(3)", "data.py:1: raises SystemExit: 3"),
    ],
)
def test_a_function_that_fails_is_named_with_its_line(
    tmp_path: Path, code: str, expected: str
) -> None:
    (tmp_path / "data.py").write_text(code)
    (found,) = mistakes(tmp_path, "./data.py:load")
    assert found.startswith(expected), found


def test_a_missing_file_suggests_another(file: Path) -> None:
    (found,) = mistakes(file.parent, "./date.py:load")
    assert found.startswith("date.py: cannot be read: No such file or directory (did you mean 'dat")


def test_a_mapping_names_the_function_too(file: Path) -> None:
    own = OwnDataset(f"{file}:load", classes=12)
    assert datasets.describe(kept_data.resolved(own)).task.classes == 12


def test_a_process_that_ends_before_the_data_is_told(tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("import os\n\n\ndef load():\n    os._exit(0)\n")
    (mistake,) = mistakes(tmp_path, "./data.py:load")
    assert "its process ended before the function returned data" in mistake
