"""Pool of processes that plays the points of a sweep; finished points are not played again."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import EmulatorError
from . import table
from .point import Finished, Point
from .point_process import PLAYING, Process, ended
from .preparation import prepare, require
from .sweep_folder import SweepFolder, opened

ENDS = ("success", "failed")
"""Outcomes of a run that ended by itself; other runs were ended from outside."""


@dataclass(frozen=True)
class Standing:
    """Progress of a sweep."""

    total: int
    finished: int
    playing: tuple[tuple[str, str], ...] = ()
    """Label and progress, in words, of each point in play."""
    left: float | None = None
    """Estimate of the remaining wall-clock seconds; None at the beginning."""


class SweepView(Protocol):
    """Observer of a sweep."""

    def progress(self, text: str) -> None:
        """Show a step of the preparation."""

    def line(self, text: str) -> None:
        """Show `text`, which stays in sight."""

    def standing(self, now: Standing) -> None:
        """Show the progress `now`; called a few times a second."""

    def finished(self, point: Finished, now: Standing) -> None:
        """Show a point that has just finished."""


class Quiet:
    """Observer without any output, for programs that call `sweep`."""

    def progress(self, text: str) -> None:
        pass

    def line(self, text: str) -> None:
        pass

    def standing(self, now: Standing) -> None:
        pass

    def finished(self, point: Finished, now: Standing) -> None:
        pass


def sweep(
    points: Sequence[Point],
    out: Path,
    cores: int,
    view: SweepView,
    *,
    about: Mapping[str, Any] | None = None,
    command: Sequence[str] = PLAYING,
) -> list[Finished]:
    """Play the points that are not finished in the folder `out`, `cores` of them at a time.

    Each point is played on one core by a process of its own, so the number of cores affects the
    duration alone. Returns all points in their order. Their rows are in `out/table.csv`, rewritten
    after each point. A diverged training is a result. Any error or interruption ends the sweep;
    points finished by then stay finished. `about` goes into `out/sweep.json`; `command` starts a
    process.

    Raises ValueError if two points share a label.
    """
    labels = [point.label for point in points]
    if repeated := sorted({label for label in labels if labels.count(label) > 1}):
        raise ValueError(f"two points are called {repeated[0]!r}")
    if not out.exists():  # a refused sweep makes none
        require(points)
    with opened(out) as folder:
        playing = _Sweep(points, folder, cores, view, command)
        folder.describe(points, about or {})
        return playing.play()


class _Sweep:
    """State of a sweep: points that wait, processes in play, finished points."""

    def __init__(
        self,
        points: Sequence[Point],
        folder: SweepFolder,
        cores: int,
        view: SweepView,
        command: Sequence[str],
    ) -> None:
        self._points, self._folder, self._cores = points, folder, cores
        self._view, self._command = view, command
        self._finished = {point.label: point for point in folder.finished(points)}
        todo = [point for point in points if point.label not in self._finished]
        self._waiting = deque(zip(todo, prepare(todo, view.progress), strict=True))
        self._playing: list[Process] = []
        self._todo, self._began = len(todo), time.monotonic()

    def play(self) -> list[Finished]:
        """Play all waiting points; on an error, kill the processes in play."""
        self._write()
        try:
            while self._waiting or self._playing:
                self._start()
                for process in ended(self._playing):
                    self._finish(process)
                self._view.standing(self._standing())
        finally:
            for process in self._playing:
                process.end()
        return self._rows()

    def _start(self) -> None:
        """Start processes while cores are free."""
        while self._waiting and len(self._playing) < self._cores:
            scratch = self._folder.scratch()
            self._playing.append(Process(*self._waiting.popleft(), scratch, self._command))

    def _finish(self, process: Process) -> None:
        """Keep the result of a process that has ended. Raises its error, if any."""
        folder, facts = process.result()
        if facts["outcome"] not in ENDS:
            raise EmulatorError(f"{process.point.label} was {facts['outcome']} from outside")
        finished = self._folder.keep(process.point, folder, facts)
        process.end()
        self._playing.remove(process)
        self._finished[finished.label] = finished
        self._write()
        self._view.finished(finished, self._standing())

    def _write(self) -> None:
        """Write the table of the points finished so far."""
        table.write(self._folder.path / "table.csv", self._rows())

    def _rows(self) -> list[Finished]:
        """Return the finished points in the order of the sweep."""
        finished = (self._finished.get(point.label) for point in self._points)
        return [point for point in finished if point]

    def _standing(self) -> Standing:
        """Return the progress at this moment."""
        return Standing(
            total=len(self._points),
            finished=len(self._finished),
            playing=tuple((process.point.label, _progress(process)) for process in self._playing),
            left=self._time_left(),
        )

    def _time_left(self) -> float | None:
        """Estimate the remaining wall-clock seconds from the pace so far; None before 5 % of a
        point.

        The last points cannot be shared among idle cores: a point takes as long as one core needs.
        """
        shares = [process.share for process in self._playing]
        unfinished = len(self._waiting) + len(shares)
        progress = self._todo - unfinished + sum(shares)
        if progress < 0.05:
            return None
        elapsed = time.monotonic() - self._began
        alone = elapsed * min(self._cores, self._todo) / progress
        return max(
            elapsed / progress * (unfinished - sum(shares)),
            *(alone * (1 - share) for share in shares),
            0.0,
        )


def _progress(process: Process) -> str:
    """Return the progress of `process` in words."""
    goal = process.point.scenario.stop.updates
    of_goal = f" of {goal}" if goal else ""
    return process.step or f"{process.updates}{of_goal} updates"
