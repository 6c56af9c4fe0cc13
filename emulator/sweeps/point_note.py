"""Note beside a finished point's run, `point.json`: its scenario, its code, its results.

The note has digests of the files of the run, and its own digest, so that damage is seen before a
point counts as finished.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..machine.made_files import file_sha256
from ..runs.results import write_json
from .deciding_code import Code, code_of

NOTE = "point.json"

_TYPES = {"label": str, "digest": str, "facts": dict}


class DamagedError(Exception):
    """The note, or a file named in the note, has changed since it was written."""


def write_note(folder: Path, label: str, digest: str, code: Code, facts: Mapping[str, Any]) -> None:
    """Write the note of the run in `folder`; no file may be added or changed afterwards."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}
    _write(folder, {"label": label, "digest": digest, "code": code, "facts": facts, "files": sums})


def copy_note(folder: Path, label: str, note: Mapping[str, Any]) -> None:
    """Write `note`, of a folder with the same files, into `folder` with the point's `label` and the
    code that played it."""
    _write(folder, {**note, "label": label, "code": code_of(note)})


def _write(folder: Path, note: Mapping[str, Any]) -> None:
    write_json(folder / NOTE, {**note, "sum": _own_sum(note)})


def read_note(folder: Path) -> dict[str, Any] | None:
    """Return the note in `folder`, or None without a note. Raises DamagedError.

    Notes of earlier versions have no digests, and are accepted.
    """
    try:
        note = json.loads((folder / NOTE).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedError(f"{NOTE}: {error}") from error
    if not isinstance(note, dict):
        raise DamagedError(f"{NOTE}: a {type(note).__name__} where a mapping was expected")
    own_digest = note.pop("sum", None)
    if own_digest is not None and own_digest != _own_sum(note):
        raise DamagedError(f"{NOTE} does not have its SHA-256")
    for key, kind in _TYPES.items():
        if not isinstance(note.get(key), kind):
            raise DamagedError(f"{NOTE}: no {key}")
    return note


def verify_note(folder: Path, note: Mapping[str, Any]) -> None:
    """Raise DamagedError if a file that `note` names has changed."""
    for name, expected in note.get("files", {}).items():
        try:
            actual = file_sha256(folder / name)
        except OSError as error:
            raise DamagedError(f"{name}: {error.strerror}") from error
        if actual != expected:
            raise DamagedError(f"{name} does not have its SHA-256")


def _own_sum(note: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the note's canonical JSON."""
    return sha256(json.dumps(note, sort_keys=True).encode()).hexdigest()
