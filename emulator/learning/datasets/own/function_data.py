"""Python functions that return data: `./data.py:load`, called once in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ....machine.cache import scratch
from ....plugins.own_process import ending
from ....plugins.python_file import Reference
from .data_mistakes import DataMistake, DataMistakes, Place
from .npz_file import named_parts, read_arrays
from .own_dataset import OwnDataset
from .read_data import ReadData

ARRAYS, MISTAKES = "arrays.npz", "mistakes.json"
"""Files that the process writes: the arrays, or the reasons for which there are none."""

_ROOT = str(Path(__file__).parents[4])
"""Folder of the package, which the process imports too."""


def source_files(own: OwnDataset) -> list[Path]:
    """Return the file of the function, and the files that it imports from beside it.

    Raises PythonFileError if the file cannot be read.
    """
    reference = Reference.read(own.file, ".")
    return [reference.file.parent / path for path in reference.contents()]


def read_function(own: OwnDataset) -> ReadData:
    """Return what the function returns. Raises OwnDataError.

    The process runs in the folder of the file, and writes to standard error what the function
    prints. Its memory is freed before a run begins.
    """
    reference = Reference.read(own.file, ".")
    file = str(reference.file)
    with scratch() as folder:
        process = subprocess.run(
            [
                sys.executable,
                "-m",
                "emulator.learning.datasets.own.call_function",
                own.file,
                str(folder),
            ],
            stdin=subprocess.DEVNULL,
            stdout=sys.__stderr__,
            env={"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, "PYTHONPATH": _path()},
        )
        mistakes = DataMistakes()
        mistakes.extend(python_mistake(own, each) for each in _mistakes(folder / MISTAKES))
        if not mistakes and not (folder / ARRAYS).exists():
            end = f"the process of {reference.name}() {ending(process.returncode)}"
            mistakes.add(Place(file, reference.begin()), f"{end} before the function returned")
        mistakes.require_none()
        return named_parts(own, read_arrays(folder / ARRAYS, own.file), own.file)


def _path() -> str:
    """Return the PYTHONPATH with which the process finds this package."""
    return os.pathsep.join(filter(None, [_ROOT, os.environ.get("PYTHONPATH")]))


def python_mistake(own: OwnDataset, mistake: Mapping[str, Any]) -> DataMistake:
    """Return an entry of `PythonFileError.mistakes`, or of the file of mistakes, as a mistake in
    data."""
    address = tuple(mistake.get("address", ()))
    place = Place(mistake["file"] or own.file, mistake["line"], address)
    return DataMistake(place, mistake["message"])


def _mistakes(path: Path) -> list[dict[str, Any]]:
    try:
        mistakes: list[dict[str, Any]] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    return mistakes
