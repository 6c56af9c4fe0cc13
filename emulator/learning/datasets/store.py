"""Data sets on this machine: four arrays in a folder, checked against their digests."""

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...machine.cache import cache
from .catalog import Description, find
from .examples import Array, Bytes, Examples


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples of a data set, mapped from files."""

    name: str
    train: Examples
    test: Examples
    owners: Array | None = None
    """Owner of each training example, as text; None if the data set names no owners."""
    rows: Array | None = None
    """Position of each training example in its source; None for the order of the source."""
    class_names: tuple[str, ...] = ()
    """Names of the classes; empty if they are numbers."""


def load(name: str) -> Dataset:
    """Return the data set `name`. Raises DataError, with the remedy, if it is missing or
    damaged."""
    description = find(name)
    inputs, labels, test_inputs, test_labels = (_part(description, p) for p in description.parts)
    train = Examples(inputs, labels, description.scale)
    return Dataset(name, train, Examples(test_inputs, test_labels, description.scale))


def folder(name: str) -> Path:
    """Return the folder of the data set `name`."""
    return cache("data", name)


def mismatch(description: Description, part: str, array: Bytes) -> str:
    """Return why `array` is not this part of the data set; empty if it is."""
    shape = description.shape(part)
    if array.shape != shape or array.dtype != np.uint8:
        return f"holds {array.dtype} {list(array.shape)}, not uint8 {list(shape)}"
    actual = digest(array)
    if actual != description.digests[part]:
        return f"has SHA-256 {actual}, not {description.digests[part]}"
    return ""


def digest(array: Bytes) -> str:
    """Return the SHA-256 of the bytes of `array` in C order."""
    return sha256(np.ascontiguousarray(array).data).hexdigest()


def save(name: str, arrays: dict[str, Bytes]) -> None:
    """Write all parts of the data set `name`; a file appears complete or not at all."""
    directory = folder(name)
    directory.mkdir(parents=True, exist_ok=True)
    for part, array in arrays.items():
        path = _path(name, part)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with unfinished.open("wb") as file:
                np.save(file, np.ascontiguousarray(array))
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


def _path(name: str, part: str) -> Path:
    return folder(name) / f"{part}.npy"


def _part(description: Description, part: str) -> Bytes:
    """Return an array from its file, mapped. Raises DataError, with the remedy."""
    path = _path(description.name, part)
    remedy = f"run `emulate data {description.name}`"
    try:
        array: Bytes = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except FileNotFoundError as error:
        raise DataError(f"{description.name} is not here: {remedy}") from error
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}: {remedy}") from error
    if difference := mismatch(description, part, array):
        raise DataError(f"{path} is damaged: it {difference}: {remedy}")
    return array
