"""The folder with the states and inputs of a server, for a recovery.

Inputs are numbered from 0. `state-N.npz` is the server before its input N, and `inputs-N.log` holds
the inputs from N on. The two newest states and all inputs since the older one are kept, so a
damaged state costs nothing: the one before it and the inputs since give the same.
"""

import hashlib
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .packed_state import PackedState
from .segment_file import SegmentWriter, is_whole, read_segment

_STATE = re.compile(r"state-(\d{12})\.npz")
_NUMBER = "number"
"""Fact that says again which input the state precedes: a file may have another's name."""
_INPUTS = re.compile(r"inputs-(\d{12})\.log")
FORMAT = 2
"""Version of the states that this program writes, and the only one that it reads."""


class SavedState(NamedTuple):
    """A sound state: the server before the input `number`."""

    number: int
    facts: dict[str, Any]
    state: PackedState


class StateFolder:
    """The files of a server's state in the folder at `path`. A missing folder is made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.mkdir(exist_ok=True)

    # -- recovery ------------------------------------------------------------------------------

    def newest(self) -> SavedState | None:
        """Return the newest undamaged state, or None without any.

        Raises ValueError for a state that another version of this program has written.
        """
        for number, path in sorted(self._numbered(_STATE), reverse=True):
            if (known := _state(path, number)) is not None:
                return known
        return None

    def inputs(self, number: int) -> Iterator[list[bytes]]:
        """Yield the records of the inputs from `number` on, up to the first that is not sound."""
        segments = sorted(self._numbered(_INPUTS))
        for begin, path in segments:
            if begin > number:
                return  # inputs in between are lost
            for place, record in enumerate(read_segment(path, begin), begin):
                if place == number:
                    yield record
                    number += 1

    def damaged(self) -> list[str]:
        """Return the names of the files with a state or with inputs that are not sound to their
        end."""
        states = [path.name for number, path in self._numbered(_STATE) if not _state(path, number)]
        inputs = [path.name for begin, path in self._numbered(_INPUTS) if not is_whole(path, begin)]
        return sorted([*states, *inputs])

    def discard_from(self, number: int) -> None:
        """Remove all states and segments that begin behind the input `number`, and unfinished
        files.

        Inputs behind a damaged one would otherwise be taken for the successors of new ones.
        """
        for begin, path in [*self._numbered(_STATE), *self._numbered(_INPUTS)]:
            unsound = path.suffix == ".npz" and _state(path, begin) is None
            if begin > number or unsound or (begin == number and path.suffix == ".log"):
                path.unlink()
        # After a kill while a state was written; a thread of it may yet give the file its name.
        for path in self._path.glob(_unfinished("*")):
            path.unlink(missing_ok=True)

    # -- running -------------------------------------------------------------------------------

    def begin_segment(self, number: int) -> SegmentWriter:
        """Begin a segment with the input `number`."""
        return SegmentWriter(self._path / f"inputs-{number:012d}.log", number)

    def save(self, number: int, facts: dict[str, Any], state: PackedState) -> int:
        """Write the `state` before the input `number`, then remove files that no recovery needs.

        Return the bytes of the state.
        """
        place = self._path / f"state-{number:012d}.npz"
        size = write_state(place, {**facts, _NUMBER: number}, state)
        states = sorted(self._numbered(_STATE))
        needed = states[-2][0] if len(states) > 1 else 0
        for begin, path in states:
            if begin < needed:
                path.unlink()
        segments = sorted(self._numbered(_INPUTS))
        for (_, path), (following, _) in pairwise(segments):
            if following <= needed:
                path.unlink()
        sync_folder(self._path)
        return size

    def _numbered(self, pattern: "re.Pattern[str]") -> list[tuple[int, Path]]:
        """Return number and path of each file with a name of the `pattern`."""
        match: Callable[[str], re.Match[str] | None] = pattern.fullmatch
        found = [(match(path.name), path) for path in self._path.iterdir()]
        return [(int(name[1]), path) for name, path in found if name]


def _state(path: Path, number: int) -> SavedState | None:
    """Return the state before the input `number` in the file at `path`; None if it has none."""
    known = read_state(path)
    if known is None or known[0].get(_NUMBER, number) != number:
        return None
    return SavedState(number, *known)


_DIGEST = hashlib.sha256().digest_size
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError)


def _unfinished(name: str) -> str:
    """Return the name under which the file `name` is written."""
    return f".{name}.part"


def write_state(path: Path, facts: dict[str, Any], state: PackedState) -> int:
    """Write `facts`, JSON values, and `state` to `path`; return the bytes of the file."""
    text = json.dumps({"format": FORMAT, "facts": facts, "tree": state.tree}).encode()
    members = {f"leaf{number}": leaf for number, leaf in enumerate(state.leaves)}
    stream = io.BytesIO()
    np.savez(stream, state=np.frombuffer(text, np.uint8), **members)
    part = path.with_name(_unfinished(path.name))
    try:
        with part.open("wb") as file:
            content = stream.getbuffer()
            file.write(content)
            file.write(hashlib.sha256(content).digest())
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)  # on a full disk the log may need the room
    sync_folder(path.parent)
    return len(content) + _DIGEST


def read_state(path: Path) -> tuple[dict[str, Any], PackedState] | None:
    """Return the facts and the state in the file at `path`; None for a missing or damaged file.

    Raises ValueError for a state of another format.
    """
    try:
        content = path.read_bytes()
        archive, digest = content[:-_DIGEST], content[-_DIGEST:]
        if hashlib.sha256(archive).digest() != digest:
            return None
        with np.load(io.BytesIO(archive), allow_pickle=False) as members:
            known = json.loads(members["state"].tobytes())
            leaves = [members[f"leaf{number}"] for number in range(len(members.files) - 1)]
        facts, tree, written = known["facts"], known["tree"], known.get("format", 1)
    except _DAMAGE:
        return None
    if written != FORMAT:
        raise ValueError(
            f"{path}: a server's state of format {written}, and this version of emulate reads "
            f"format {FORMAT}: resume the run with the version that began it"
        )
    return facts, PackedState(tree, leaves)


def sync_folder(folder: Path) -> None:
    """Synchronize the names in `folder` to the disk: a rename survives a loss of power."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
