"""Saved models: npz files that hold a model, its layout, and the state of its optimizer.

Members of the file: `theta` float32[N], `version` int64, `layout` as JSON, `optimizer` (the kind)
as JSON, and `optimizer.NAME` for each array of the state. Files without the optimizer's members are
saved models too. Reading executes nothing, and every member is bounded before it is read.
"""

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...layout import Layout
from ...optimizers.base import OptimizerState
from ...plugins.plain_files import open_plain
from ...vectors import Vector

_STATE = "optimizer."
"""Prefix of the members that hold the optimizer's state."""
_MOST_JSON = 1 << 20
"""Largest number of bytes of a member that holds JSON; the zoo's largest layout takes 4 kB."""
# zipfile raises NotImplementedError for a compression method or version that it does not know, and
# RuntimeError for an encrypted member
_UNZIPPABLE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
    *(EOFError, NotImplementedError, RuntimeError),
)
"""Errors of the standard library at an archive that is damaged, encrypted or none."""
_MOST_STEPS = 10**15
"""Largest count of updates or steps: more than any run makes, and far from overflow."""
_STEP = 4 << 20
"""Bytes that are written to a file between two syncs."""
_MOST_ARRAYS = 8
"""Largest number of arrays of a state; Adam has three."""


@dataclass(frozen=True)
class SavedModel:
    """A model, the number of updates applied to it, and the state of its optimizer."""

    theta: Vector
    """The parameters, float32[N]."""
    version: int
    layout: Layout
    optimizer: OptimizerState | None = field(default=None)
    """State of the optimizer; None if the file holds none."""


def write(path: Path, model: SavedModel) -> None:
    """Write `model` to `path` in one step: a reader sees the old file or the whole new one."""
    part = part_of(path)
    members: dict[str, Any] = {
        "theta": model.theta,
        "version": np.int64(model.version),
        "layout": _json(model.layout.plain()),
    }
    if model.optimizer is not None:
        members["optimizer"] = _json(model.optimizer.kind)
        members |= {_STATE + name: array for name, array in model.optimizer.arrays.items()}
    with io.BufferedWriter(_SteadyFile(part, "wb")) as file:
        np.savez(file, **members)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def part_of(path: Path) -> Path:
    """Return the file that `write` fills before it becomes `path`."""
    return path.with_suffix(".part")


class _SteadyFile(io.FileIO):
    """A file whose size is at most `_STEP` bytes and one write ahead of the disk.

    So its growth shows that a slow disk is at work: one sync at the end would look like a stall.
    """

    _unsynced = 0

    def write(self, data: Any, /) -> int:
        written = super().write(data)
        self._unsynced += written
        if self._unsynced >= _STEP:
            os.fsync(self.fileno())
            self._unsynced = 0
        return written


def read_version(path: Path) -> int | None:
    """Return the version of the model in the file at `path`; None if the file is no model."""
    try:
        with open_plain(path) as file, zipfile.ZipFile(file) as archive:
            return int(_Members(archive, 1).count("version", ())[()])
    except (*_UNZIPPABLE, ValueError, OSError):
        return None


def read(path: Path, layout: Layout) -> SavedModel:
    """Read the model of `layout` in the file at `path`.

    Raises ValueError, with the member, the value found and the value expected, if the file is no
    saved model, or is one of another layout; OSError if the file cannot be read.
    """
    try:
        with open_plain(path) as file, zipfile.ZipFile(file) as archive:
            return _read(_Members(archive, layout.size), layout)
    except _UNZIPPABLE as error:
        raise ValueError(f"is no npz file: {error}") from error


def _read(members: "_Members", layout: Layout) -> SavedModel:
    _same_layout(members.json("layout"), layout)
    theta, version = members.vector("theta"), members.count("version", ())
    optimizer = None
    if "optimizer" in members.names:
        kind = members.json("optimizer")
        if not isinstance(kind, str):
            raise ValueError("optimizer: the kind of the optimizer was expected, as text")
        optimizer = OptimizerState(kind, _state(members))
    return SavedModel(theta, int(version[()]), layout, optimizer)


def _state(members: "_Members") -> Mapping[str, NDArray[Any]]:
    names = [name for name in members.names if name.startswith(_STATE)]
    if len(names) > _MOST_ARRAYS:
        raise ValueError(f"{len(names)} arrays of an optimizer: at most {_MOST_ARRAYS} expected")
    return {name.removeprefix(_STATE): members.state(name) for name in names}


def _same_layout(found: Any, expected: Layout) -> None:
    """Raise ValueError unless `found`, the JSON of a layout, is that of `expected`."""
    plain = expected.plain()
    if found == plain:
        return
    sizes = f"{expected.size:,} parameters in {len(plain)} variables"
    if not isinstance(found, list) or not all(isinstance(variable, dict) for variable in found):
        raise ValueError(f"layout: a list of variables was expected: {sizes}")
    for place, (theirs, ours) in enumerate(zip(found, plain, strict=False)):
        if theirs != ours:
            # a text of the file may be long
            raise ValueError(
                f"its variable {place + 1} is {str(_named(theirs))[:80]}, and {_named(ours)} was "
                f"expected ({sizes})"
            )
    raise ValueError(f"it has {len(found)} variables, and {sizes} were expected")


def _named(variable: Mapping[str, Any]) -> str:
    return f"{variable.get('name')}{variable.get('shape')}"


def _json(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


class _Members:
    """The members of an npz file, each bounded by the size that its array must have."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        """`size` is the number of the model's parameters."""
        self._archive, self._size = archive, size
        self.names = [name.removesuffix(".npy") for name in archive.namelist()]

    def json(self, name: str) -> Any:
        """Return the JSON value in the member `name`."""
        dtype, shape, content = self._open(name, _MOST_JSON)
        if dtype != np.uint8 or len(shape) != 1:
            raise ValueError(f"{name}: {dtype}{list(shape)}, and JSON as bytes was expected")
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name}: not JSON: {error}") from error

    def vector(self, name: str) -> Vector:
        """Return the finite float32 vector in the member `name`, one number a parameter."""
        dtype, shape, content = self._open(name, 4 * self._size)
        if dtype != np.float32 or shape != (self._size,):
            raise ValueError(
                f"{name}: {dtype}{list(shape)}, and float32[{self._size}] was expected"
            )
        vector: Vector = np.frombuffer(content, np.float32, self._size)
        if not np.isfinite(vector).all():
            raise ValueError(f"{name}: holds numbers that are not finite: its training diverged")
        return vector

    def count(self, name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the whole numbers of `shape` in the member `name`, from 0 to `_MOST_STEPS`."""
        dtype, found, content = self._open(name, 8 * self._size)
        if dtype != np.int64 or found != shape:
            raise ValueError(f"{name}: {dtype}{list(found)}, and int64{list(shape)} was expected")
        counts = np.frombuffer(content, np.int64).reshape(shape)
        if (counts < 0).any():
            raise ValueError(f"{name}: a number below zero")
        if (counts > _MOST_STEPS).any():
            raise ValueError(f"{name}: {counts.max():,}, and at most {_MOST_STEPS:,} was expected")
        return counts

    def state(self, name: str) -> NDArray[Any]:
        """Return an array of the optimizer's state: a vector of parameters, or a count."""
        dtype, _, _ = self._open(name, 4 * self._size)
        return self.count(name, (1,)) if dtype == np.int64 else self.vector(name)

    def _open(self, name: str, most: int) -> tuple[np.dtype[Any], tuple[int, ...], bytes]:
        """Return type, shape and bytes of the array in the member `name`, at most `most` bytes."""
        if name not in self.names:
            raise ValueError(f"{name}: is missing, so this is no model that a run has saved")
        slack = 4096  # of the array's own header
        with self._archive.open(f"{name}.npy") as member:
            # a compressed member may claim any size, so no more than the bound is unpacked
            raw = member.read(max(most, 8) + slack + 1)
        if len(raw) > max(most, 8) + slack:
            raise ValueError(f"{name}: more than the {most:,} bytes expected")
        stream = io.BytesIO(raw)
        try:
            if npy.read_magic(stream) != (1, 0):
                raise ValueError("not version 1.0 of the format")
            shape, _, dtype = npy.read_array_header_1_0(stream)
        except ValueError as error:
            raise ValueError(f"{name}: no array: {error}") from error
        content = stream.read()
        # before any memory is set aside for the shape that the header claims
        if dtype.hasobject or len(content) != dtype.itemsize * _product(shape):
            raise ValueError(f"{name}: {len(content):,} bytes do not fit {dtype}{list(shape)}")
        return dtype, shape, content


def _product(shape: tuple[int, ...]) -> int:
    product = 1
    for length in shape:
        product *= length
    return product
