"""NumPy archives (.npz): the arrays `x_train`, `y_train`, `x_test`, `y_test`, and owners."""

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....machine.host import Host
from ..examples import Array
from .data_mistakes import DataMistakes, Place
from .own_dataset import OwnDataset
from .read_data import GivenOwners, GivenPart, ReadData

_PAIRS = {"train": ("x_train", "y_train"), "test": ("x_test", "y_test")}


# zipfile raises NotImplementedError for a compression that it does not know, and RuntimeError for
# an encrypted member; NumPy raises MemoryError for a shape that no memory holds
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError),
    *(NotImplementedError, RuntimeError, MemoryError),
)
"""Errors at an archive that is damaged, encrypted or none."""


@dataclass(frozen=True)
class ArrayPlaces:
    """Places in two arrays of a file, by the arrays' names."""

    file: str
    inputs: str
    labels: str
    shape: tuple[int, ...]
    """Shape of an input."""

    def input(self, row: int | None = None, position: int | None = None) -> Place:
        place = array_place(self.file, self.inputs, row)
        if position is None:
            return place
        axes = (int(step) for step in np.unravel_index(position, self.shape))
        return place._replace(address=(*place.address, *axes))

    def label(self, row: int | None = None) -> Place:
        return array_place(self.file, self.labels, row)


def array_place(file: str, name: str, row: int | None = None) -> Place:
    """Return the place of the array `name` in `file`, or of the array's `row`."""
    return Place(file, None, (name,) if row is None else (name, row))


def read_npz(own: OwnDataset, path: Path) -> ReadData:
    """Return the arrays of the file at `path`. Raises OwnDataError."""
    return named_parts(own, read_arrays(path, str(path)), str(path))


def named_parts(own: OwnDataset, arrays: Mapping[str, Array], file: str) -> ReadData:
    """Return the parts of a data set in `arrays` by their names; `file` is for messages.

    Raises OwnDataError if an array is missing.
    """
    mistakes = DataMistakes()
    wanted = list(_PAIRS["train"])
    if any(name in arrays for name in _PAIRS["test"]):
        wanted += _PAIRS["test"]
    held = f"it holds {', '.join(arrays)}" if arrays else "it holds no array"
    for name in wanted:
        if name not in arrays:
            mistakes.add(Place(file), f"has no array {name!r}: {held}")
    if own.owners is not None and own.owners not in arrays:
        mistakes.add(Place(file), f"has no array {own.owners!r} with the owners: {held}")
    words = (own.owners, *(y for _, y in _PAIRS.values()))
    arrays = {
        name: _decoded(array, name, file, mistakes) if name in words else array
        for name, array in arrays.items()
    }
    mistakes.require_none()
    parts = {
        part: GivenPart(arrays[x], arrays[y], ArrayPlaces(file, x, y, arrays[x].shape[1:]))
        for part, (x, y) in _PAIRS.items()
        if x in wanted
    }
    return ReadData(parts["train"], parts.get("test"), _owners(own.owners, arrays, file))


def _decoded(array: Array, name: str, file: str, mistakes: DataMistakes) -> Array:
    """Return `array` with text in place of bytes."""
    if array.dtype.kind != "S":
        return array
    try:
        return np.strings.decode(array, "utf-8")
    except UnicodeDecodeError as error:
        message = f"holds bytes that are no text in UTF-8: {error.object!r}"
        mistakes.add(array_place(file, name), message)
        return array


def _owners(name: str | None, arrays: Mapping[str, Array], file: str) -> GivenOwners | None:
    if name is None:
        return None
    return GivenOwners(arrays[name], lambda row: array_place(file, name, row))


def read_arrays(path: Path, file: str) -> dict[str, Array]:
    """Return all arrays of the archive at `path`, and unpickle none; `file` is for messages.

    Raises OwnDataError.
    """
    mistakes, arrays = DataMistakes(), dict[str, Array]()
    try:
        with zipfile.ZipFile(path) as archive:
            claimed = sum(member.file_size for member in archive.infolist())
    except _DAMAGED as error:
        mistakes.add(Place(file), f"is no npz file: {error}")
        mistakes.require_none()
    # before anything is unpacked: a small archive may claim any size
    if claimed > (free := Host.here().available):
        mistakes.add(
            Place(file),
            f"holds {claimed / 1e9:.1f} GB of arrays, and this host has {free / 1e9:.1f} GB of "
            "memory available",
        )
        mistakes.require_none()
    with np.load(path, allow_pickle=False) as members:
        for name in members.files:
            try:
                array = members[name]
            except _DAMAGED as error:
                mistakes.add(array_place(file, name), _unreadable(error))
                continue
            if isinstance(array, np.ndarray):
                arrays[name] = array
            else:  # NumPy gives the bytes of any other file as they are
                mistakes.add(array_place(file, name), "is no array, as np.savez writes them")
    mistakes.require_none()
    return arrays


def _unreadable(error: Exception) -> str:
    if "allow_pickle" in str(error):
        return (
            "holds Python objects (a pickle), which could run any code and are never read: store "
            "an array of numbers or of text"
        )
    return f"cannot be read: {error}"
