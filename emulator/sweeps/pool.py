"""Pool of processes that plays the points of sweeps and studies, finished ones left out.

A batch is the points of one folder. Some may follow from the results of others, and are played as
soon as these are there, so that no core waits for the last point of a first phase. Points in
containers come last: each has the host for itself, as other work would slow the containers down.
"""

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..errors import EmulatorError
from ..scenario import Scenario
from . import table
from .deciding_code import Code, deciding_code
from .finished_points import FinishedPoints
from .point import Finished, Point
from .point_process import PlayedPoint, Playing, PointTask, Start, at_home, heard
from .preparation import prepare, require
from .remaining_time import InPlay, seconds_left
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


class Batch(Protocol):
    """A group of points with one folder for their results."""

    @property
    def out(self) -> Path:
        """Folder of the points."""

    @property
    def about(self) -> Mapping[str, Any]:
        """Entries of `sweep.json` beside the points."""

    def first(self) -> Sequence[Point]:
        """Return the points to begin with."""

    def then(self, finished: Finished) -> Sequence[Point]:
        """Return the further points that follow from `finished`, each once."""

    def later(self) -> Sequence[Point]:
        """Return a point like each of those that are still to follow, for an estimate."""


@dataclass(frozen=True)
class PlainBatch:
    """A batch of points of which none follows from another."""

    points: Sequence[Point]
    out: Path
    about: Mapping[str, Any] = field(default_factory=dict)

    def first(self) -> Sequence[Point]:
        return self.points

    def then(self, finished: Finished) -> Sequence[Point]:
        return ()

    def later(self) -> Sequence[Point]:
        return ()


def sweep(
    points: Sequence[Point],
    out: Path,
    cores: int,
    view: SweepView,
    *,
    about: Mapping[str, Any] | None = None,
    runs: Path | None = None,
    start: Start = at_home,
) -> list[Finished]:
    """Play the points that are not finished in the folder `out`, `cores` of them at a time.

    Each point is played on one core by a process of its own, so the number of cores affects the
    duration alone. Returns all points in their order. Their rows are in `out/table.csv`, rewritten
    as points end. A diverged training is a result. Any error or interruption ends the sweep;
    points finished by then stay finished. A point that another sweep or study in the folder `runs`
    has finished is taken over. `about` goes into `out/sweep.json`; `start` has points played
    elsewhere than by processes of this machine.

    Raises ValueError if two points share a label.
    """
    times = Counter(point.label for point in points)
    if repeated := sorted(label for label, count in times.items() if count > 1):
        raise ValueError(f"two points are called {repeated[0]!r}")
    batch = PlainBatch(points, out, about or {})
    return play_batches([batch], cores, view, runs=runs, start=start)[0]


def play_batches(
    batches: Sequence[Batch],
    cores: int,
    view: SweepView,
    *,
    runs: Path | None = None,
    start: Start = at_home,
) -> list[list[Finished]]:
    """Play the points of all `batches` as one, as `sweep` does; return the points of each batch."""
    new = [batch.first() for batch in batches if not batch.out.exists()]
    require([point for points in new for point in points])  # a refused sweep makes no folder
    with ExitStack() as held:
        folders = [held.enter_context(opened(batch.out)) for batch in batches]
        rooms = [_Room(*both) for both in zip(batches, folders, strict=True)]
        return _Pool(rooms, cores, view, FinishedPoints(runs), start).play()


class _Room:
    """A batch with its folder and its finished points."""

    def __init__(self, batch: Batch, folder: SweepFolder) -> None:
        self.batch, self.folder = batch, folder
        self.points: list[Point] = []
        self.finished: dict[str, Finished] = {}
        self._written = -1

    def rows(self) -> list[Finished]:
        """Return the finished points in the order of the batch."""
        finished = (self.finished.get(point.label) for point in self.points)
        return [point for point in finished if point]

    def write(self) -> None:
        """Write the table of the points finished so far, if there are new ones."""
        if len(self.finished) != self._written:
            self._written = len(self.finished)
            table.write(self.folder.path / "table.csv", self.rows())

    def describe(self) -> None:
        """Write `sweep.json` with the points known so far."""
        self.folder.describe(self.points, self.batch.about)


@dataclass(frozen=True, eq=False)
class _Job:
    """A point that waits for a core."""

    room: _Room
    point: Point
    scenario: Scenario


_TOGETHER = 20
"""Largest number of short points that share a process: a start takes longer than such a run."""
_WRITTEN = 1.0
"""Least wall-clock seconds between two writings of the tables."""


class _Pool:
    """State of what is played: points that wait, processes in play, finished points."""

    def __init__(
        self,
        rooms: Sequence[_Room],
        cores: int,
        view: SweepView,
        cache: FinishedPoints,
        start: Start,
    ) -> None:
        self._rooms, self._cores = rooms, cores
        self._view, self._cache, self._players = view, cache, start
        self._waiting: deque[_Job] = deque()
        self._playing: dict[Playing, tuple[_Room, Code]] = {}
        self._began, self._done, self._due = time.monotonic(), 0.0, 0.0

    def play(self) -> list[list[Finished]]:
        """Play all points; on an error, kill the processes in play."""
        try:
            first = [(room, room.batch.first()) for room in self._rooms]
            self._queue([job for room, points in first for job in self._missing(room, points)])
            for room in self._rooms:
                room.describe()
            self._began = time.monotonic()
            while self._waiting or self._playing:
                self._start()
                self._hear()
                self._view.standing(self._standing())
        finally:
            for process in self._playing:
                process.end()
            for room in self._rooms:
                room.write()
                room.describe()
        return [room.rows() for room in self._rooms]

    # -- points that wait --------------------------------------------------------------------------

    def _missing(self, room: _Room, points: Sequence[Point]) -> list[tuple[_Room, Point]]:
        """Return those of `points`, and of the points that follow, that have no result yet."""
        missing = []
        while points:
            room.points += points
            here = {item.label: item for item in room.folder.finished(points)}
            followers: list[Point] = []
            for point in points:
                finished = here.get(point.label) or room.folder.take_over(point, self._cache)
                if finished is None:
                    missing.append((room, point))
                else:
                    followers += self._count(room, point, finished)
            points = followers
        return missing

    def _count(self, room: _Room, point: Point, finished: Finished) -> Sequence[Point]:
        """Count `point` as finished; return the points that follow."""
        room.finished[point.label] = finished
        self._cache.add(point.digest, finished.folder)
        return room.batch.then(finished)

    def _queue(self, missing: Sequence[tuple[_Room, Point]]) -> None:
        scenarios = prepare([point for _, point in missing], self._view.progress)
        jobs = zip(missing, scenarios, strict=True)
        self._waiting += [_Job(*place, scenario) for place, scenario in jobs]

    # -- points in play ----------------------------------------------------------------------------

    def _start(self) -> None:
        """Start processes while cores are free and points wait that no process is playing."""
        while len(self._playing) < self._cores and (jobs := self._next()):
            room = jobs[0].room
            tasks = [PointTask(job.point, job.scenario, room.folder.scratch()) for job in jobs]
            code = deciding_code()  # as the process is about to load it
            self._playing[self._players(tasks)] = room, code

    def _next(self) -> list[_Job]:
        """Remove and return the waiting points of the next process; none if all must wait.

        Equal points are played once: the second waits for the first, and takes its result over.
        """
        busy = {point.digest for process in self._playing for point in process.points}
        chosen: list[_Job] = []
        together = self._together()
        for job in self._startable():
            if chosen and not (job.point.short and job.room is chosen[0].room):
                continue
            if job.point.digest in busy:
                continue
            self._waiting.remove(job)
            if finished := job.room.folder.take_over(job.point, self._cache):
                self._keep(job.room, job.point, finished)
                continue
            busy.add(job.point.digest)
            chosen.append(job)
            if not job.point.short or len(chosen) == together:
                break
        return chosen

    def _startable(self) -> list[_Job]:
        """Return the waiting points that may start beside the processes in play.

        A point in containers starts once no other point waits or plays, and nothing starts beside
        it.
        """
        if any(point.in_containers for process in self._playing for point in process.points):
            return []
        virtual = [job for job in self._waiting if not job.point.in_containers]
        return virtual if virtual or self._playing else list(self._waiting)

    def _together(self) -> int:
        """Return the number of short points for a process, so that every core gets some."""
        short = sum(job.point.short for job in self._waiting)
        return max(1, min(_TOGETHER, short // self._cores))

    def _hear(self) -> None:
        """Keep the results of the processes that have some, and forget processes that ended."""
        for process in heard(self._playing):
            room, code = self._playing[process]
            for played in process.hear():
                self._finish(room, played, code)
            if process.over:
                process.end()
                del self._playing[process]
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _WRITTEN
            for room in self._rooms:
                room.write()

    def _finish(self, room: _Room, played: PlayedPoint, code: Code) -> None:
        """Keep the run of `played`, and queue the points that follow."""
        point, folder, facts = played
        if facts["outcome"] not in ENDS:
            raise EmulatorError(f"{point.label} was {facts['outcome']} from outside")
        self._done += point.work
        self._keep(room, point, room.folder.keep(point, folder, facts, code))

    def _keep(self, room: _Room, point: Point, finished: Finished) -> None:
        if followers := self._count(room, point, finished):
            self._queue(self._missing(room, followers))
        if not point.short:  # hundreds of lines would tell nothing
            self._view.finished(finished, self._standing())

    # -- progress ----------------------------------------------------------------------------------

    def _standing(self) -> Standing:
        """Return the progress at this moment."""
        running, later = self._running(), self._later()
        return Standing(
            total=sum(len(room.points) for room in self._rooms) + len(later),
            finished=sum(len(room.finished) for room in self._rooms),
            playing=tuple((each.points[0].label, _progress(each)) for each in running),
            left=self._time_left(running, later),
        )

    def _later(self) -> list[Point]:
        """Return a point like each of those that are still to follow from results."""
        return [point for room in self._rooms for point in room.batch.later()]

    def _time_left(self, running: Sequence[Playing], later: Sequence[Point]) -> float | None:
        queued = [point for process in running for point in list(process.points)[1:]]
        waiting = [*queued, *(job.point for job in self._waiting), *later]
        left = [*waiting, *(process.points[0] for process in running)]
        alone = all(point.in_containers for point in left)
        return seconds_left(
            time.monotonic() - self._began,
            self._done,
            [InPlay(each.points[0].work, each.share) for each in running],
            [point.work for point in waiting],
            1 if alone else self._cores,
        )

    def _running(self) -> list[Playing]:
        """Return the processes that play a point at this moment."""
        return [process for process in self._playing if process.points]


def _progress(process: Playing) -> str:
    """Return the progress of `process` in words."""
    goal = process.points[0].scenario.stop.updates
    of_goal = f" of {goal}" if goal else ""
    return process.step or f"{process.updates}{of_goal} updates"
