"""Calls a function that returns data, in a process of its own.

`python -m emulator.learning.datasets.own.call_function REF FOLDER`: FOLDER gets the arrays as
an npz file, or the mistakes as JSON.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

from ....errors import PythonFileError
from ....plugins import own_process
from ....plugins.python_file import Reference
from ..examples import Array
from .data_mistakes import DataMistakes, OwnDataError
from .function_data import ARRAYS, MISTAKES
from .returned_arrays import as_array, named


def call(reference: Reference) -> dict[str, Array]:
    """Return the arrays that the function returns, by name.

    Raises PythonFileError if the function fails, and OwnDataError with every mistake in the arrays.
    """
    os.chdir(reference.file.resolve().parent)
    function = reference.load()
    if not callable(function):
        message = f"{reference.name!r} is {type(function).__name__}, and no function"
        raise PythonFileError(reference.file, None, message)
    try:
        with reference.blamed():
            given = function()
    except PythonFileError as error:
        if error.mistakes[0]["line"] is not None:
            raise
        message = error.mistakes[0]["message"]  # as of a call without its arguments
        raise PythonFileError(reference.file, reference.begin(), message) from error
    try:
        values = dict(named(given))
    except ValueError as error:
        message = f"{reference.name} returns {error}"
        raise PythonFileError(reference.file, reference.begin(), message) from error
    mistakes = DataMistakes()
    with reference.blamed():
        arrays = {
            name: as_array(name, value, str(reference), mistakes) for name, value in values.items()
        }
    mistakes.require_none()
    return {name: array for name, array in arrays.items() if array is not None}


def main(text: str, folder: Path) -> None:
    """Write the arrays of the function `text` into `folder`, or its mistakes."""
    own_process.begin()
    try:
        arrays = call(Reference.read(text, "."))
    except (PythonFileError, OwnDataError) as error:
        (folder / MISTAKES).write_text(json.dumps(_mistakes(error)), encoding="utf-8")
        sys.exit(2)
    part = folder / f"part-{ARRAYS}"
    np.savez(part, allow_pickle=False, **arrays)
    part.replace(folder / ARRAYS)  # a process that is ended while it writes leaves no half file


def _mistakes(error: PythonFileError | OwnDataError) -> list[dict[str, object]]:
    """Return the mistakes of `error` as JSON-compatible values."""
    if isinstance(error, PythonFileError):
        return [dict(mistake) for mistake in error.mistakes]
    return [{**place._asdict(), "message": message} for place, message in error.mistakes]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
