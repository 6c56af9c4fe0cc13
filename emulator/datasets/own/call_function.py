"""Calls a function that returns data: `python -m emulator.datasets.own.call_function REF FOLDER`.

FOLDER gets the arrays as an npz file, or the mistakes as JSON.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PythonFileError
from ...plugins.python_file import Reference
from ..examples import Array
from .function_data import ARRAYS, MISTAKES

_NAMES = ("x_train", "y_train", "x_test", "y_test")
_EXPECTED = (
    "x_train, y_train, x_test, y_test were expected, or x and y, or a mapping with these names"
)


def call(reference: Reference) -> dict[str, Array]:
    """Return the arrays that the function returns, by name. Raises PythonFileError."""
    os.chdir(reference.file.resolve().parent)
    function = reference.load()
    if not callable(function):
        message = f"{reference.name!r} is {type(function).__name__}, and no function"
        raise PythonFileError(reference.file, None, message)
    with reference.blamed():
        given = function()
    try:
        arrays = {name: _array(name, value) for name, value in named(given)}
    except ValueError as error:
        raise PythonFileError(reference.file, None, f"{reference.name} returns {error}") from error
    for name, array in arrays.items():
        if array.dtype.hasobject and not _is_text(array):
            message = f"{reference.name} returns {name} as objects: numbers or text were expected"
            raise PythonFileError(reference.file, None, message)
    return {
        name: array.astype(np.str_) if array.dtype.hasobject else array
        for name, array in arrays.items()
    }


def _array(name: str, value: Any) -> Array:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}, which is no array: {error}") from error


def _is_text(array: Array) -> bool:
    return all(isinstance(value, str) for value in array.flat)


def named(given: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and arrays in what a function has returned. Raises ValueError.

    Accepted are a mapping by name, four arrays, two arrays, and two pairs as in Keras.
    """
    match given:
        case Mapping():
            if strange := [name for name in given if not _is_name(name)]:
                raise ValueError(f"an array named {strange[0]!r}: a mapping's keys are names")
            yield from given.items()
        case [(x, y), (x_test, y_test)]:
            yield from zip(_NAMES, (x, y, x_test, y_test), strict=True)
        case [_, _] | [_, _, _, _]:
            yield from zip(_NAMES, given, strict=False)
        case tuple() | list():
            raise ValueError(f"{len(given)} values: {_EXPECTED}")
        case _:
            raise ValueError(f"{type(given).__name__}: {_EXPECTED}")


def _is_name(key: object) -> bool:
    """Return whether an npz file can have a member `key`; `savez` has arguments of its own."""
    return isinstance(key, str) and key.isidentifier() and key not in ("file", "allow_pickle")


def main(text: str, folder: Path) -> None:
    """Write the arrays of the function `text` into `folder`, or its mistakes."""
    try:
        arrays = call(Reference.read(text, "."))
    except PythonFileError as error:
        (folder / MISTAKES).write_text(json.dumps(error.mistakes))
        sys.exit(error.exit_code)
    np.savez(folder / ARRAYS, allow_pickle=False, **arrays)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
