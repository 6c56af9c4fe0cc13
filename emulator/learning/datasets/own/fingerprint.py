"""SHA-256 of a source of data: a file or a folder, remembered while nothing in it changes."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from errno import EINVAL
from hashlib import file_digest, sha256
from pathlib import Path
from stat import S_ISREG

from ....machine.cache import cache

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
    memo = cache("own-data", "fingerprints", f"{_digest(key)}.json")
    newest = max((at for _, _, at in states), default=0)
    if (known := _remembered(memo, newest + _SETTLED)) is not None:
        return known
    if len(paths) == len(files) == 1 and paths[0].is_file():
        found = _file_digest(files[0])
    else:
        lines = [f"{_file_digest(file)}  {_inside(file, paths)}\n" for file in files]
        found = _digest("".join(lines))
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


def _digest(text: str) -> str:
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
