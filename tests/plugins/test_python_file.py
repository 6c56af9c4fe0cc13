"""Objects of Python files by path: what is loaded, and a single message for each mistake."""

import sys
from pathlib import Path

import pytest

from emulator.errors import PythonFileError, ScenarioError
from emulator.plugins.python_file import Reference, is_reference, load


@pytest.mark.parametrize(
    "text, is_one",
    [
        ("./models.py:build", True),
        ("/a folder/models.py:Net2", True),
        ("models.py", False),
        ("models.py:", False),
        ("models.py:two.parts", False),
        ("models:build", False),
        ("topk", False),
        (3, False),
    ],
)
def test_a_reference_is_a_path_and_a_name(text: object, is_one: bool) -> None:
    assert is_reference(text) is is_one


def test_equal_files_are_run_once_and_changed_ones_anew(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("class Mine: pass")
    first = load("./own.py:Mine", tmp_path)
    assert load("own.py:Mine", tmp_path) is first
    file.write_text("class Mine: changed = True")
    second = load("./own.py:Mine", tmp_path)
    assert second is not first and second.changed
    assert first.__module__ != second.__module__


@pytest.mark.parametrize("line", ["from helper import WORD", "from .helper import WORD"])
def test_a_file_imports_modules_beside_it_and_no_other_file_sees_them(
    tmp_path: Path, line: str
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text(line)
        (tmp_path / folder / "helper.py").write_text(f"from deep import *; WORD = {folder!r}")
        (tmp_path / folder / "deep.py").touch()
    before = list(sys.path)
    assert load("a/own.py:WORD", tmp_path) == "a"
    assert load("b/own.py:WORD", tmp_path) == "b"
    assert "helper" not in sys.modules and sys.path == before
    contents = Reference.read("a/own.py:WORD", tmp_path).contents()
    assert contents.keys() == {"own.py", "helper.py", "deep.py"}
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.parametrize(
    "text, says",
    [
        ("./own.py:bild", "own.py: has no 'bild' (did you mean 'build'?)"),
        ("./own.py:Q", "own.py: has no 'Q': it defines build"),
        ("./owm.py:build", "owm.py: cannot be read: No such file or directory (did you mean"),
        ("./syntax.py:f", "syntax.py:2: raises SyntaxError: invalid syntax"),
        ("./fails.py:f", "fails.py:3: raises ZeroDivisionError: division by zero"),
        ("./caller.py:f", "fails.py:3: raises ZeroDivisionError: division by zero"),
        ("./exits.py:f", "exits.py:1: raises SystemExit: 3"),
        ("./lacks.py:f", "lacks.py:1: raises ModuleNotFoundError: No module named 'not_here'"),
        ("own", "'own' names no object of a Python file: write ./file.py:Name"),
    ],
)
def test_each_mistake_has_one_message(tmp_path: Path, text: str, says: str) -> None:
    for name, code in {
        "own": "def build(): return 1",
        "syntax": "x = 1\nx = = 2\n",
        "fails": "\n\n1 / 0",
        "caller": "import fails",
        "exits": "raise SystemExit(3)",
        "lacks": "import not_here",
    }.items():
        (tmp_path / f"{name}.py").write_text(code)
    with pytest.raises(PythonFileError) as caught:
        load(text, tmp_path)
    place = f"{tmp_path}/" if text != "own" else ""
    assert str(caught.value).startswith(place + says)
    assert isinstance(caught.value, ScenarioError | ValueError) and caught.value.exit_code == 2


def test_an_error_of_a_later_call_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def build():\n    return {}['x']\n")
    reference = Reference.read("./own.py:build", tmp_path)
    says = r"own\.py:2: raises KeyError: 'x'$"
    with pytest.raises(PythonFileError, match=says), reference.blamed():
        reference.load()()


def test_an_import_in_a_function_of_what_stands_beside_has_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def build():\n    import helper\n    return helper\n")
    (tmp_path / "helper.py").touch()
    reference = Reference.read("./own.py:build", tmp_path)
    says = r"own\.py:2: raises ModuleNotFoundError: .* 'helper': import what stands beside the file"
    with pytest.raises(PythonFileError, match=says), reference.blamed():
        reference.load()()
