"""Files that `emulate` made, told apart from files of others, which are never replaced or removed.

A folder that a command fills has the file `.made-by-emulate.json` with the command that made the
folder, and the SHA-256 of each file for which a user may have a file of the same name.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import HostError

MARK = ".made-by-emulate.json"
_PNG = b"\x89PNG\r\n\x1a\n"
_DRAWN = b"tEXtSoftware\0emulate"
"""Chunk by which the analysis signs its pictures."""


def made_as(folder: Path, kind: str) -> bool:
    """Return whether `folder` was made by the command `kind`, for example `compose`."""
    return _mark(folder).get("kind") == kind


def claim(folder: Path, kind: str) -> None:
    """Make `folder` for the command `kind`, or take it if it is empty or was made by that command.

    Raises HostError if `folder` has other content or cannot be written.
    """
    require_claimable(folder, kind)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not made_as(folder, kind):
            _write(folder, {"kind": kind})
    except OSError as error:
        raise HostError(f"cannot write {folder}: {error.strerror}: name another folder") from error


def require_claimable(folder: Path, kind: str) -> None:
    """Raise HostError unless `folder` is missing, empty, or made by the command `kind`."""
    try:
        taken = folder.exists() and any(folder.iterdir()) and not made_as(folder, kind)
    except OSError as error:
        raise HostError(f"cannot write {folder}: {error.strerror}: name another folder") from error
    if taken:
        raise HostError(
            f"{folder} is not empty, and was not made by this command: name a new folder, so that "
            "no file of yours is replaced"
        )


@contextmanager
def filling(folder: Path, names: Iterable[str]) -> Iterator[None]:
    """Make `folder`, let the block write or remove the files `names` in it, and note what the block
    wrote, also if it was interrupted.

    Raises HostError if one of the files is there and was not made by an earlier call, or has
    changed since; links are never written through. Raises OSError if `folder` cannot be written. A
    new folder in which an error left no file is removed.
    """
    mark, names = _mark(folder), sorted(names)
    made = mark.get("files", {})
    there = [name for name in names if _is_strange(folder / name, made)]
    if there:
        files = ", ".join(there[:3]) + (", …" if len(there) > 3 else "")
        raise HostError(
            f"{files} in {folder}: made or changed by other means than this command: move or "
            "remove the files, or name another folder with --out"
        )
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    # for a process that is killed in the block
    _write(folder, {**mark, "files": {**made, **dict.fromkeys(names)}})
    try:
        yield
    except BaseException:
        with suppress(OSError):  # a disk may be full
            if new and not any((folder / name).exists() for name in names):
                (folder / MARK).unlink()
                folder.rmdir()
            else:
                _note(folder, mark, names)
        raise
    _note(folder, mark, names)


def _note(folder: Path, mark: dict[str, Any], names: list[str]) -> None:
    """Write the `mark` of `folder` with the files of `names` that are there, and their sums."""
    sums = {name: file_sha256(folder / name) for name in names if (folder / name).is_file()}
    kept = {name: digest for name, digest in mark.get("files", {}).items() if name not in names}
    _write(folder, {**mark, "files": {**kept, **sums}})


def require_picture(file: Path) -> None:
    """Raise HostError if `file` is there and is no picture that `emulate` has drawn."""
    if not (file.exists() or file.is_symlink()):
        return
    with suppress(OSError), file.open("rb") as content:
        if file.is_file():
            head = content.read(1024)
            if head.startswith(_PNG) and _DRAWN in head:
                return
    raise HostError(f"{file} is there, and was not drawn by `emulate`: name another file")


def require_marked(file: Path, mark: str) -> None:
    """Raise HostError if `file` is there without the text `mark`, which its own content has."""
    if not (file.exists() or file.is_symlink()):
        return
    with suppress(OSError):
        if file.is_file() and mark.encode() in file.read_bytes():
            return
    raise HostError(f"{file} is there, and was not made by `emulate`: move or remove the file")


def _is_strange(path: Path, made: dict[str, Any]) -> bool:
    if path.is_symlink():
        return True
    if not path.exists():
        return False
    name = path.name
    return not path.is_file() or name not in made or made[name] not in (None, file_sha256(path))


def _mark(folder: Path) -> dict[str, Any]:
    """Return the content of the mark in `folder`; {} without a readable mark."""
    try:
        mark = json.loads((folder / MARK).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    fit = isinstance(mark, dict) and isinstance(mark.get("files", {}), dict)
    return mark if fit else {}


def _write(folder: Path, mark: dict[str, Any]) -> None:
    part = folder / f"{MARK}.part"
    part.unlink(missing_ok=True)
    with part.open("x", encoding="utf-8") as file:  # never through a link
        file.write(json.dumps(mark, indent=1) + "\n")
    part.replace(folder / MARK)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of the file at `path`, in hexadecimal digits."""
    from hashlib import file_digest  # loads OpenSSL, which most commands do without

    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
