"""A state in a file: an npz archive with a tree of JSON and its arrays, and a checksum behind it.

The file is an ordinary npz archive with 32 bytes of SHA-256 at its end. It is written under another
name, synchronized to the disk and renamed, so that a reader finds all of it or none. Nothing in it
is executed.
"""

import hashlib
import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .object_tree import Frozen

_DIGEST = hashlib.sha256().digest_size
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError)


def write_state(path: Path, facts: dict[str, Any], state: Frozen) -> int:
    """Write `facts`, JSON values, and `state` to `path`; return the bytes of the file."""
    text = json.dumps({"facts": facts, "tree": state.tree}).encode()
    members = {f"leaf{number}": leaf for number, leaf in enumerate(state.leaves)}
    stream = io.BytesIO()
    np.savez(stream, state=np.frombuffer(text, np.uint8), **members)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        content = stream.getbuffer()
        file.write(content)
        file.write(hashlib.sha256(content).digest())
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)
    return len(content) + _DIGEST


def read_state(path: Path) -> tuple[dict[str, Any], Frozen] | None:
    """Return the facts and the state in the file at `path`; None for a missing or damaged file."""
    try:
        content = path.read_bytes()
        archive, digest = content[:-_DIGEST], content[-_DIGEST:]
        if hashlib.sha256(archive).digest() != digest:
            return None
        with np.load(io.BytesIO(archive), allow_pickle=False) as members:
            known = json.loads(members["state"].tobytes())
            leaves = [members[f"leaf{number}"] for number in range(len(members.files) - 1)]
        return known["facts"], Frozen(known["tree"], leaves)
    except _DAMAGE:
        return None


def sync_folder(folder: Path) -> None:
    """Synchronize the names in `folder` to the disk: a rename survives a loss of power."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
