"""Calls a function that returns data, in a process of its own.

`python -m emulator.learning.datasets.own.call_function REF FOLDER`: FOLDER gets the arrays as
an npz file, or the mistakes as JSON.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import PythonFileError
from ....plugins import own_process
from ....plugins.python_file import Reference, error_text
from ..examples import Array
from .data_mistakes import DataMistakes, OwnDataError, Place
from .function_data import ARRAYS, MISTAKES


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


_NAMES = ("x_train", "y_train", "x_test", "y_test")
_EXPECTED = (
    "x_train, y_train, x_test, y_test were expected, or x and y, or a mapping with these names"
)


def named(given: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and arrays in what a function has returned. Raises ValueError.

    Accepted are a mapping by name, four arrays, two arrays, and two pairs as in Keras.
    """
    match given:
        case Mapping():
            if strange := [name for name in given if not _is_name(name)]:
                raise ValueError(f"an array named {strange[0]!r}: a mapping's keys are names")
            yield from given.items()
        # lists are examples: two of two numbers each are no pairs of arrays
        case [tuple((x, y)), tuple((x_test, y_test))]:
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


def as_array(name: str, value: Any, file: str, mistakes: DataMistakes) -> Array | None:
    """Return `value`, returned by `name` by a function in `file`, as an array of numbers or text.

    Notes values under a mask, examples of different shapes and other objects in `mistakes`, and
    returns None then.
    """
    try:
        mistake = _masked(name, value)
        array = np.asarray(value)
        if mistake is None and array.dtype.hasobject and not _is_text(array):
            mistake = _uneven(name, value) or _object(name, array)
    except Exception as error:  # also of the conversion by a type of the user
        mistake = _uneven(name, value) or ((name,), f"is no array: {error_text(error)}")
    if mistake is not None:
        mistakes.add(Place(file, None, mistake[0]), mistake[1])
        return None
    return array.astype(np.str_) if array.dtype.hasobject else array


_Mistake = tuple[tuple[str | int, ...], str]
"""Address and message of a mistake."""


def _masked(name: str, value: Any) -> _Mistake | None:
    """Return the mistake of values under a mask in `value`, or in the entries of the list `value`.

    NumPy would give these values as if nothing had masked them.
    """
    entries = enumerate(value) if isinstance(value, list | tuple) else [(None, value)]
    for index, each in entries:
        if isinstance(each, np.ma.MaskedArray) and np.ma.is_masked(each):
            mask = np.ma.getmaskarray(each)
            first = [int(step) for step in np.argwhere(mask)[0]]
            if index is not None:
                first.insert(0, index)
            count = f" (one of {mask.sum():,} masked values)" if mask.sum() > 1 else ""
            return (
                name,
                *first,
            ), f"is masked{count}: fill masked values, or leave their examples out"
    return None


def _uneven(name: str, value: Any) -> _Mistake | None:
    """Return the mistake of the first entry of `value` whose shape is not that of the first."""
    if not isinstance(value, list | tuple | np.ndarray) or not np.ndim(value[:0]):
        return None
    shapes = []
    for index, each in enumerate(value):
        try:
            shapes.append([*np.shape(each)])
        except Exception:
            return (name, index), "holds lists of different lengths: one shape was expected"
        if shapes[-1] != shapes[0]:
            first = f"{name}[0] has {shapes[0]}"
            return (
                name,
                index,
            ), f"has shape {shapes[-1]}, and {first}: all examples have one shape"
    return None


def _object(name: str, array: Array) -> _Mistake:
    """Return the mistake of the first value of `array` that is neither a number nor text."""
    expected = "numbers or text were expected"
    for position, each in enumerate(array.flat):
        if not isinstance(each, str | int | float | np.generic):
            found = "is None" if each is None else f"is of type {type(each).__name__}"
            address = (int(step) for step in np.unravel_index(position, array.shape))
            return (name, *address), f"{found}: {expected}"
    return (name,), f"mixes numbers and text, or has numbers beyond 64 bits: {expected}"


def _is_text(array: Array) -> bool:
    return all(isinstance(value, str) for value in array.flat)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
