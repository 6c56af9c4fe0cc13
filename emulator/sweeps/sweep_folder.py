"""Folder of a sweep: finished points appear in it complete; unfinished ones never count.

A note beside a finished point's run has the scenario's digest, the results, and digests of the
files. It also holds its own digest, so that damage is seen before a point counts as finished.
"""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import Any

from ..errors import EmulatorError, HostError
from ..machine.cache import made_again
from ..machine.made_files import claim, file_sha256
from ..runs.results import write_json
from .point import Finished, Point

NOTE = "point.json"

_TYPES = {"label": str, "digest": str, "facts": dict}


class DamagedError(Exception):
    """The note, or a file named in the note, has changed since it was written."""


def write_note(folder: Path, label: str, digest: str, facts: Mapping[str, Any]) -> None:
    """Write the note of the run in `folder`; no file may be added or changed afterwards."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    note = {
        "label": label,
        "digest": digest,
        "facts": facts,
        "files": {path.relative_to(folder).as_posix(): file_sha256(path) for path in files},
    }
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


@dataclass(frozen=True)
class SweepFolder:
    """The folder: `points/<name>/` for each finished point, `.playing/` for points in play."""

    path: Path

    def describe(self, points: Sequence[Point], about: Mapping[str, Any]) -> None:
        """Write `sweep.json`: the entries of `about`, and the folder of each point."""
        folders = {point.label: f"points/{point.name}" for point in points}
        write_json(self.path / "sweep.json", {**about, "points": folders})

    def finished(self, points: Sequence[Point]) -> list[Finished]:
        """Return the finished ones among `points`; damaged points are put aside, with a warning.

        Raises EmulatorError if the folder of a point holds another scenario's result, which is not
        removed.
        """
        finished, foreign = [], []
        for point in points:
            folder = self._final_folder(point)
            try:
                written = read_note(folder)
                if written and written["digest"] == point.digest:
                    verify_note(folder, written)
                    finished.append(_finished(point, folder, written["facts"]))
                elif folder.exists():
                    foreign.append(str(folder))
            except DamagedError as damage:
                made_again(folder, str(damage), kept=self._put_aside(folder))
        if foreign:
            raise EmulatorError(
                "these folders hold results of other scenarios: name another folder, or "
                "remove them to play these points anew:\n" + "\n".join(foreign)
            )
        return finished

    def scratch(self) -> Path:
        """Return a new scratch folder to play a point in."""
        self._playing.mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._playing))

    def keep(self, point: Point, played: Path, facts: dict[str, Any]) -> Finished:
        """Move the run folder `played` to its final place in one step; return the finished
        point."""
        write_note(played, point.label, point.digest, facts)
        final = self._final_folder(point)
        played.rename(final)
        return _finished(point, final, facts)

    def _final_folder(self, point: Point) -> Path:
        """Return the final folder of `point`."""
        return self.path / "points" / point.name

    def _put_aside(self, folder: Path) -> Path:
        """Move a point's folder to `<out>/damaged/`, and return the new path."""
        aside = self.path / "damaged"
        aside.mkdir(exist_ok=True)
        kept = aside / folder.name
        for number in count(2):
            if not kept.exists():
                return folder.rename(kept)
            kept = aside / f"{folder.name}-{number}"
        raise AssertionError("unreachable")

    @property
    def _playing(self) -> Path:
        """Folder of points in play, on the same file system as `points/`."""
        return self.path / ".playing"

    def clear(self) -> None:
        """Remove the folders of points in play."""
        shutil.rmtree(self._playing, ignore_errors=True)


def take(path: Path) -> None:
    """Make the folder of a sweep, tuning or study at `path`, or take one that is there.

    Raises HostError if the folder has other content or cannot be written.
    """
    notes = chain(path.glob(f"points/*/{NOTE}"), path.glob("short/*/timeline.jsonl"))
    if next(notes, None) is None:  # without the mark, an earlier version made the folder
        claim(path, "sweep")


@contextmanager
def opened(path: Path) -> Iterator[SweepFolder]:
    """Open the sweep's folder at `path` for this process alone; create it if need be.

    On exit the folders of points in play are removed. Raises HostError if the folder cannot be
    written, EmulatorError while another process has it open.
    """
    folder = SweepFolder(path)
    take(path)
    try:
        (path / "points").mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise HostError(
            f"cannot write the folder {path}: {error.strerror}: name another with --out"
        ) from error
    try:
        _lock(lock, path)
        folder.clear()  # removes the leftovers of a killed sweep
        try:
            yield folder
        finally:
            folder.clear()
    finally:
        os.close(lock)


def _lock(folder: int, path: Path) -> None:
    """Lock the folder. Raises EmulatorError if another process holds the lock."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise EmulatorError(f"another sweep is being played into {path}: let it end") from error


def _finished(point: Point, folder: Path, facts: dict[str, Any]) -> Finished:
    """Return the finished point with its row of the table."""
    row = {"point": point.label, **point.values, "seed": point.scenario.seed, **facts}
    return Finished(point.label, folder, row)
