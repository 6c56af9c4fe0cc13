"""Data sets of one's own in the cache: checked once, kept by the digest of their source.

A data set in the cache is a folder of plain `.npy` arrays, and a description with the SHA-256 of
each array. Nothing in it is a pickle.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from errno import EINVAL
from hashlib import file_digest, sha256
from pathlib import Path
from stat import S_ISREG
from typing import Any

import numpy as np

from ....errors import DataError, PythonFileError
from ....machine.cache import cache, made_again
from ....plugins import plain
from ...models.task import Task
from ..catalog import Description
from ..examples import Array, Examples
from ..store import Dataset
from .checked_data import CheckedData, checked
from .data_mistakes import DataMistakes, OwnDataError, Place
from .function_data import python_mistake, read_function, source_files
from .image_folder import read_folder
from .npz_file import read_npz
from .own_dataset import OwnDataset
from .read_data import ReadData
from .table_file import read_tables

_FORMAT = 4
"""Number of the way in which sources are read and arrays are kept; a change makes all anew."""
_ABOUT = "about.json"


@dataclass(frozen=True)
class _Kept:
    """The description of a data set in the cache."""

    description: Description
    arrays: dict[str, str]
    """SHA-256 of each array by its name, over type, shape and bytes."""
    class_names: tuple[str, ...]


def resolved(own: OwnDataset, *, again: bool = False) -> OwnDataset:
    """Return `own` with the SHA-256 of its source, after its examples are in the cache.

    `own.file` is an absolute path. A source with the SHA-256 that `own` asks for is not needed if
    the cache has its examples. `again` reads the source even if the cache has them. Raises
    OwnDataError with every mistake in the data, DataError if the cache cannot be written.
    """
    if own.sha256 is not None and not again and not _damage(own):
        return own
    found = replace(own, sha256=_source_digest(own))
    if own.sha256 is not None and found.sha256 != own.sha256:
        mistakes = DataMistakes()
        mistakes.add(
            Place(own.file),
            f"has SHA-256 {found.sha256}, and {own.sha256} was expected: it has changed since",
        )
        mistakes.require_none()
    damage = "asked for" if again else _damage(found)
    if damage:
        folder = folder_of(found)
        if folder.exists() and not again:
            made_again(folder, damage)
        _keep(found, checked(found, _read(found)))
    return found


def describe(own: OwnDataset) -> Description:
    """Return the description of `own`, which is resolved. Raises DataError if it is not kept."""
    return _kept(own).description


def load(own: OwnDataset) -> Dataset:
    """Return the examples of `own`, which is resolved, mapped from the cache.

    Raises DataError if they are missing or damaged.
    """
    kept = _kept(own)
    arrays = {name: _array(own, name, digest) for name, digest in kept.arrays.items()}
    scale = kept.description.scale
    return Dataset(
        own.name,
        Examples(arrays["train-inputs"], arrays["train-labels"], scale),
        Examples(arrays["test-inputs"], arrays["test-labels"], scale),
        owners=arrays.get("owners"),
        rows=arrays.get("rows"),
        class_names=kept.class_names,
    )


# -- the source ----------------------------------------------------------------------------------


def _source_digest(own: OwnDataset) -> str:
    """Return the SHA-256 of the files of `own`. Raises OwnDataError if one cannot be read."""
    try:
        if own.format == "function":
            return fingerprint(source_files(own))
        return fingerprint([Path(file) for file in (own.file, own.test_file) if file is not None])
    except PythonFileError as error:
        raise OwnDataError([python_mistake(own, mistake) for mistake in error.mistakes]) from error
    except OSError as error:
        mistakes = DataMistakes()
        mistakes.add(Place(str(error.filename or own.file)), f"cannot be read: {error.strerror}")
        mistakes.require_none()
        raise


def _read(own: OwnDataset) -> ReadData:
    """Return the examples of `own` as its source gives them. Raises OwnDataError."""
    match own.format:
        case "npz":
            return read_npz(own, Path(own.file))
        case "csv" | "parquet":
            return read_tables(own)
        case "function":
            return read_function(own)
        case "folder":
            return read_folder(own, Path(own.file))


# -- the cache -----------------------------------------------------------------------------------


def folder_of(own: OwnDataset) -> Path:
    """Return the folder of `own` in the cache; it depends on the content, not on its place."""
    options = {key: value for key, value in plain(own).items() if key not in ("file", "test_file")}
    function = own.name.rpartition(":")[2] if own.format == "function" else None
    source = [own.format, function, own.test_file is not None]
    key = json.dumps([_FORMAT, source, options], sort_keys=True)
    return cache("own-data", sha256(key.encode()).hexdigest()[:32])


def _keep(own: OwnDataset, data: CheckedData) -> None:
    """Write `data` into the cache in one step. Raises DataError."""
    folder = folder_of(own)
    arrays = {
        "train-inputs": data.train.inputs,
        "train-labels": data.train.labels,
        "test-inputs": data.test.inputs,
        "test-labels": data.test.labels,
        **({} if data.owners is None else {"owners": data.owners}),
        **({} if data.rows is None else {"rows": data.rows}),
    }
    about = {
        "task": asdict(data.task),
        "scale": data.train.scale,
        "sizes": {"train": len(data.train), "test": len(data.test)},
        "class_names": data.class_names,
        "notes": data.notes,
        "arrays": {name: _digest(array) for name, array in arrays.items()},
    }
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".") as making:
            made = Path(making, "made")
            made.mkdir()
            for name, array in arrays.items():
                np.save(made / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
            (made / _ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
            with suppress(FileNotFoundError):
                shutil.rmtree(folder)
            made.rename(folder)
    except OSError as error:
        if not _damage(own):  # another process was faster
            return
        raise DataError(
            f"{folder} cannot be written: {error.strerror}: set EMULATE_CACHE to a folder that can"
        ) from error


def _kept(own: OwnDataset) -> _Kept:
    """Return the description of `own` in the cache. Raises DataError if it is missing."""
    folder = folder_of(own)
    try:
        about: dict[str, Any] = json.loads((folder / _ABOUT).read_bytes())
        task = Task(**{**about["task"], "shape": tuple(about["task"]["shape"])})
        notes = tuple(about["notes"])
        description = Description(own.name, task, about["scale"], about["sizes"], {}, notes)
        return _Kept(description, about["arrays"], tuple(about["class_names"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{own.file} is not in the cache ({folder}): run `emulate data {own.file}`"
        ) from error


def _damage(own: OwnDataset) -> str:
    """Return why the cache does not hold `own`; empty if it does.

    The digests of the arrays are not compared, which `load` does.
    """
    try:
        for name in _kept(own).arrays:
            _mapped(own, name)
    except DataError as error:
        return str(error)
    return ""


def _array(own: OwnDataset, name: str, digest: str) -> Array:
    """Return the array `name`, mapped. Raises DataError unless it has the SHA-256 `digest`."""
    array = _mapped(own, name)
    if _digest(array) != digest:
        path = folder_of(own) / f"{name}.npy"
        raise DataError(f"{path} is damaged: remove its folder, and run `emulate data {own.file}`")
    return array


def _mapped(own: OwnDataset, name: str) -> Array:
    path = folder_of(own) / f"{name}.npy"
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}: run `emulate data {own.file}`") from error


def _digest(array: Array) -> str:
    """Return the SHA-256 of type, shape and bytes of `array`."""
    digest = sha256(f"{array.dtype.str}{list(array.shape)}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


_SETTLED = 2_000_000_000
"""Nanoseconds after which a change of a file shows in its time, on any file system."""


def fingerprint(paths: list[Path]) -> str:
    """Return the SHA-256 of the files at `paths`, or in the folders there.

    For a single file it is that of `sha256sum`; else, that of the lines of `sha256sum` over all
    files, with paths from the folder. Files are read once, until their size or time changes.
    Raises OSError for a file that cannot be read.
    """
    files = [file for path in paths for file in _files(path)]
    states = [_state(file) for file in files]
    key = json.dumps([[str(file), *state] for file, state in zip(files, states, strict=True)])
    memo = cache("own-data", "fingerprints", f"{_text_digest(key)}.json")
    newest = max((at for _, _, at in states), default=0)
    if (known := _remembered(memo, newest + _SETTLED)) is not None:
        return known
    if len(paths) == len(files) == 1 and paths[0].is_file():
        found = _file_digest(files[0])
    else:
        lines = [f"{_file_digest(file)}  {_inside(file, paths)}\n" for file in files]
        found = _text_digest("".join(lines))
    with suppress(OSError):  # it is read again the next time
        write_whole(memo, json.dumps(found).encode())
    return found


def _files(path: Path) -> Iterator[Path]:
    """Yield the file at `path`, or all files below the folder, in order; no hidden ones."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def _state(file: Path) -> tuple[int, int, int]:
    about = file.stat()
    if not S_ISREG(about.st_mode):  # a pipe would be waited for
        raise OSError(EINVAL, "it is neither a file nor a folder", str(file))
    return about.st_size, about.st_ino, about.st_mtime_ns


def _inside(file: Path, paths: list[Path]) -> str:
    """Return the path of `file` from the folder or the file's own folder among `paths`."""
    own = next(path for path in paths if file.is_relative_to(path))
    return file.relative_to(own).as_posix() if file != own else file.name


def _remembered(memo: Path, settled: int) -> str | None:
    """Return the SHA-256 in the file `memo`; None if it was written before `settled`.

    A change just after the file was read need not show in the file's time.
    """
    try:
        known = json.loads(memo.read_bytes())
        return known if isinstance(known, str) and memo.stat().st_mtime_ns > settled else None
    except (OSError, ValueError):
        return None


def _file_digest(file: Path) -> str:
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


def _text_digest(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one step. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
