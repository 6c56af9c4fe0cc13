"""Folder of a sweep: finished points appear in it complete; unfinished ones never count."""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from ..errors import EmulatorError, HostError, counted
from ..machine.cache import made_again
from ..machine.made_files import claim
from ..runs.results import write_json
from .deciding_code import Code, code_of, deciding_code, differences
from .finished_points import FinishedPoints
from .point import Finished, Point
from .point_note import NOTE, DamagedError, copy_note, read_note, verify_note, write_note

OTHER_CODE = "other-code"
"""Folder inside the sweep's for points that other code has played."""


@dataclass(frozen=True)
class SweepFolder:
    """The folder: `points/<name>/` for each finished point, `.playing/` for points in play."""

    path: Path

    def describe(self, points: Sequence[Point], about: Mapping[str, Any]) -> None:
        """Write `sweep.json`: the entries of `about`, and the folder of each point."""
        folders = {point.label: f"points/{point.name}" for point in points}
        write_json(self.path / "sweep.json", {**about, "points": folders})

    def finished(self, points: Sequence[Point]) -> list[Finished]:
        """Return the finished ones among `points`.

        Points that are damaged, or were played by other code, are put aside, with a line on
        standard error. Raises EmulatorError if the folder of a point holds another scenario's
        result, which is not removed.
        """
        finished, foreign = [], []
        outdated: dict[Path, Code] = {}
        now = deciding_code()
        for point in points:
            folder = self._final_folder(point)
            try:
                note = read_note(folder)
                if note is None or note["digest"] != point.digest:
                    foreign += [str(folder)] * folder.exists()
                elif (code := code_of(note)) != now:
                    outdated[folder] = code
                else:
                    verify_note(folder, note)
                    if "code" not in note:
                        copy_note(folder, point.label, note)
                    finished.append(_finished(point, folder, note["facts"]))
            except DamagedError as damage:
                made_again(folder, str(damage), kept=self._put_aside(folder, "damaged"))
        if foreign:
            raise EmulatorError(
                "these folders hold results of other scenarios: name another folder, or "
                "remove them to play these points anew:\n" + "\n".join(foreign)
            )
        if outdated:
            self._put_all_aside(outdated, now)
        return finished

    def _put_all_aside(self, outdated: Mapping[Path, Code], now: Code) -> None:
        """Move points that other code has played aside, and say how many and why."""
        for folder in outdated:
            self._put_aside(folder, OTHER_CODE)
        reasons = dict.fromkeys(differences(code, now) for code in outdated.values())
        kept = self.path / OTHER_CODE
        print(
            f"emulate: {counted(len(outdated), 'point')} of {self.path} to play anew, as the code "
            f"that decides numbers has changed since ({'; '.join(reasons)}): the old folders are "
            f"in {kept}",
            file=sys.stderr,
        )

    def scratch(self) -> Path:
        """Return a new scratch folder to play a point in."""
        self._playing.mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._playing))

    def keep(self, point: Point, played: Path, facts: dict[str, Any], code: Code) -> Finished:
        """Move the run folder `played` to its final place in one step; return the finished
        point."""
        write_note(played, point.label, point.digest, code, facts)
        final = self._final_folder(point)
        played.rename(final)
        return _finished(point, final, facts)

    def take_over(self, point: Point, elsewhere: FinishedPoints) -> Finished | None:
        """Return `point` as finished if its run is found `elsewhere`, by links to the files of that
        run; None without such a run.
        """
        found = elsewhere.find(point.digest)
        if found is None:
            return None
        source, note = found
        copy, final = self.scratch() / "run", self._final_folder(point)
        for name in note["files"]:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            _link(source / name, copy / name)
        copy_note(copy, point.label, note)
        copy.rename(final)
        return _finished(point, final, note["facts"])

    def _final_folder(self, point: Point) -> Path:
        """Return the final folder of `point`."""
        return self.path / "points" / point.name

    def _put_aside(self, folder: Path, where: str) -> Path:
        """Move a point's folder into the folder `where` of the sweep's, and return the new path."""
        aside = self.path / where
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


def _link(source: Path, copy: Path) -> None:
    """Make `copy` a hard link to `source`, or a copy where the file systems differ."""
    try:
        os.link(source, copy)
    except OSError:
        shutil.copy2(source, copy)
