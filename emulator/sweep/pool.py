"""Plays the points of a sweep on all cores; what is finished is never played again."""

import select
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import EmulatorError
from . import table
from .point import Finished, Point
from .point_process import PLAYING, Process
from .preparation import prepare
from .sweep_folder import Shelf, opened

_EVERY = 0.25
"""Wall seconds between two looks at how far everyone is."""

_ENDS = ("success", "failed")
"""Outcomes of a run that came to its own end; others were ended from outside."""


@dataclass(frozen=True)
class Standing:
    """How far a sweep is."""

    total: int
    finished: int
    playing: tuple[tuple[str, str], ...] = ()
    """Labels of the points that are being played, each with how far it is, in words."""
    left: float | None = None
    """Wall seconds that the rest may take, once there is something to judge by."""


class SweepView(Protocol):
    """Whoever looks on."""

    def progress(self, text: str) -> None:
        """A step on the way up."""

    def standing(self, now: Standing) -> None:
        """Some times a second."""

    def finished(self, one: Finished, now: Standing) -> None:
        """A point was played to its end just now."""


class Quiet:
    """A view for those who do not look on."""

    def progress(self, text: str) -> None:
        pass

    def standing(self, now: Standing) -> None:
        pass

    def finished(self, one: Finished, now: Standing) -> None:
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
    """Play the points that `out` does not hold finished, `cores` of them side by side.

    Each is played on one core by a process of its own, so the number of cores changes nothing
    but the time it takes. Returns all, in their order; their rows are in `out/table.csv`, also
    before the end. A training that fails is a result. An error ends the sweep, and so does
    whatever interrupts it; points that are finished by then stay so. `about` goes into
    `out/sweep.json`; `command` starts a process that plays a point.
    """
    labels = [point.label for point in points]
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise ValueError(f"two points are called {twice[0]!r}")
    with opened(out) as shelf:
        playing = _Sweep(points, shelf, cores, view, command)
        shelf.describe(points, about or {})
        return playing.play()


class _Sweep:
    def __init__(
        self,
        points: Sequence[Point],
        shelf: Shelf,
        cores: int,
        view: SweepView,
        command: Sequence[str],
    ) -> None:
        self._points, self._shelf, self._cores = points, shelf, cores
        self._view, self._command = view, command
        self._finished = {one.label: one for one in shelf.finished(points)}
        todo = [point for point in points if point.label not in self._finished]
        self._waiting = deque(zip(todo, prepare(todo, view.progress), strict=True))
        self._playing: list[Process] = []
        self._todo, self._began = len(todo), time.monotonic()

    def play(self) -> list[Finished]:
        self._write()
        try:
            while self._waiting or self._playing:
                self._start()
                heard, _, _ = select.select(self._playing, [], [], _EVERY)
                for process in heard:
                    if not process.hear():
                        self._finish(process)
                self._view.standing(self._standing())
        finally:
            for process in self._playing:
                process.end()
        return self._rows()

    def _start(self) -> None:
        while self._waiting and len(self._playing) < self._cores:
            room = self._shelf.room()
            self._playing.append(Process(*self._waiting.popleft(), room, self._command))

    def _finish(self, process: Process) -> None:
        folder, facts = process.result()
        if facts["outcome"] not in _ENDS:
            raise EmulatorError(f"{process.point.label} was {facts['outcome']} from outside")
        one = self._shelf.keep(process.point, folder, facts)
        process.end()
        self._playing.remove(process)
        self._finished[one.label] = one
        self._write()
        self._view.finished(one, self._standing())

    def _write(self) -> None:
        table.write(self._shelf.path / "table.csv", self._rows())

    def _rows(self) -> list[Finished]:
        done = (self._finished.get(point.label) for point in self._points)
        return [one for one in done if one]

    def _standing(self) -> Standing:
        return Standing(
            total=len(self._points),
            finished=len(self._finished),
            playing=tuple((one.point.label, _far(one)) for one in self._playing),
            left=self._left(),
        )

    def _left(self) -> float | None:
        """From the pace so far; the last points cannot be shared among idle cores."""
        shares = [one.share for one in self._playing]
        rest = len(self._waiting) + len(shares)
        done = self._todo - rest + sum(shares)
        if done < 0.05:
            return None
        elapsed = time.monotonic() - self._began
        alone = elapsed * min(self._cores, self._todo) / done
        return max(
            elapsed / done * (rest - sum(shares)), *(alone * (1 - one) for one in shares), 0.0
        )


def _far(process: Process) -> str:
    goal = process.point.scenario.stop.updates
    of = f" of {goal}" if goal else ""
    return process.step or f"{process.updates}{of} updates"
