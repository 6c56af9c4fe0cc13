"""A sweep's folder: finished points stand in it whole, and nothing half made ever counts."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from ..errors import EmulatorError, HostError
from ..machine.remade_files import made_again
from ..runs.results import write_json
from . import note
from .point import Finished, Point


@dataclass(frozen=True)
class Shelf:
    """`<out>/points/<name>/` for each finished point, `<out>/.playing/` for all others."""

    path: Path

    def describe(self, points: Sequence[Point], about: Mapping[str, Any]) -> None:
        """Write `sweep.json`: `about`, and the folder of each point."""
        folders = {point.label: f"points/{point.name}" for point in points}
        write_json(self.path / "sweep.json", {**about, "points": folders})

    def finished(self, points: Sequence[Point]) -> list[Finished]:
        """Those of the points that are finished. One that is damaged is put aside, with a word.

        Raises an EmulatorError if under the label of one stands what another scenario gave:
        what has been played is not ours to remove.
        """
        found, strange = [], []
        for point in points:
            place = self._place(point)
            try:
                told = note.read(place)
                if told and told["digest"] == point.digest:
                    note.verify(place, told)
                    found.append(_finished(point, place, told["facts"]))
                elif place.exists():
                    strange.append(str(place))
            except note.DamagedError as damage:
                made_again(place, str(damage), kept=self._put_aside(place))
        if strange:
            raise EmulatorError(
                "these are not of the scenarios that are to be played: name another folder, or "
                "remove them to play these points anew:\n" + "\n".join(strange)
            )
        return found

    def room(self) -> Path:
        """A new folder to play a point in."""
        self._playing.mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._playing))

    def keep(self, point: Point, played: Path, facts: dict[str, Any]) -> Finished:
        """Put a run folder in its place, in one step: from then on the point is finished."""
        note.write(played, point.label, point.digest, facts)
        place = self._place(point)
        played.rename(place)
        return _finished(point, place, facts)

    def _place(self, point: Point) -> Path:
        return self.path / "points" / point.name

    def _put_aside(self, place: Path) -> Path:
        """Move a point's folder out of the way, into `<out>/damaged/`, and return where it is."""
        aside = self.path / "damaged"
        aside.mkdir(exist_ok=True)
        kept = aside / place.name
        for number in count(2):
            if not kept.exists():
                return place.rename(kept)
            kept = aside / f"{place.name}-{number}"
        raise AssertionError("unreachable")

    @property
    def _playing(self) -> Path:
        return self.path / ".playing"

    def clear(self) -> None:
        """Remove what is being played."""
        shutil.rmtree(self._playing, ignore_errors=True)


@contextmanager
def opened(path: Path) -> Iterator[Shelf]:
    """The folder, made if need be, for this process alone; what was being played goes at the end.

    Raises a HostError where it cannot be written, an EmulatorError while another has it.
    """
    shelf = Shelf(path)
    try:
        (path / "points").mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise HostError(
            f"cannot write the sweep's folder {path}: {error.strerror}: name another with --out"
        ) from error
    try:
        _lock(lock, path)
        shelf.clear()  # of what a sweep that was killed has left
        try:
            yield shelf
        finally:
            shelf.clear()
    finally:
        os.close(lock)


def _lock(folder: int, path: Path) -> None:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise EmulatorError(f"another sweep is being played into {path}: let it end") from error


def _finished(point: Point, folder: Path, facts: dict[str, Any]) -> Finished:
    row = {"point": point.label, **point.values, "seed": point.scenario.seed, **facts}
    return Finished(point.label, folder, row)
