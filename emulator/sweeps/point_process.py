"""Process that plays points of a sweep: `python -m emulator.sweeps SCRATCH…`.

SCRATCH is a point's scratch folder: it holds the scenario, and the run folder is made there. Points
of several folders are played one after the other, which saves the start of a process for each. The
process reports to the sweep on standard output, in lines of JSON: progress now and then, the
results at the end of a point. The process ends when its standard input closes, which happens when
the sweep ends for any reason, `kill -9` included.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from .. import errors
from ..errors import EmulatorError
from ..log.records import Record, UpdateRecord
from ..runs.conductor import ProgressView, RunView
from ..runs.plugin_sources import kept_scenario
from ..scenario import Scenario, load
from .point import Point
from .table import facts

SCENARIO = "scenario.yaml"
PLAYERS = {
    "virtual": (sys.executable, "-m", "emulator.sweeps"),
    "docker": (sys.executable, "-m", "emulator.sweeps.container_process"),
}
"""Command that starts the process of a point, by runtime."""

_ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
EVERY = 0.25
"""Wall-clock seconds between two looks at the processes in play."""
_REMOVED = 60.0
"""Most wall-clock seconds in which the containers of a run that is cancelled are removed."""
_OUTPUT_TAIL = 4000
"""Last characters of a dead process's output that its error message repeats."""


class PointTask(NamedTuple):
    """A point to play in the folder `scratch`."""

    point: Point
    scenario: Scenario
    """The point's scenario, completed by `preparation.prepare`."""
    scratch: Path

    def write(self) -> None:
        """Write the scenario and the sources of users, whose files may change meanwhile."""
        point, scratch = self.point, self.scratch
        point.sources.write(scratch)
        text = kept_scenario(self.scenario, point.sources)
        (scratch / SCENARIO).write_text(text, encoding="utf-8")


class PlayedPoint(NamedTuple):
    """A point that has been played, with its new run folder and the facts of the run."""

    point: Point
    folder: Path
    facts: dict[str, Any]


class Playing(Protocol):
    """Points in play, one after the other, wherever that is."""

    over: bool
    """Whether all is ended, after the last point."""
    updates: int
    """Updates of the point in play."""
    step: str
    """What is done before the point's first update; empty afterwards."""

    def fileno(self) -> int:
        """Return a descriptor that `select` finds readable when there is something to hear."""

    def hear(self) -> list[PlayedPoint]:
        """Return the points played since the last call. Raises the error that ended one."""

    @property
    def points(self) -> Sequence[Point]:
        """Points that are not played yet, the one in play first."""

    @property
    def share(self) -> float:
        """Share of the point in play that is done, from 0 to 1, as far as a stop condition
        tells."""

    def end(self) -> None:
        """End what still plays, and remove the scratch folders of the points."""


Start = Callable[[Sequence[PointTask]], Playing]
"""Function that has points played, at least one, one after the other."""


class Process:
    """Process that plays points one after the other, and ends with this process at the latest."""

    def __init__(self, tasks: Sequence[PointTask], command: Sequence[str]) -> None:
        """Start the process for `tasks`, at least one."""
        self._waiting = deque(task.point for task in tasks)
        self._containers = any(point.in_containers for point in self._waiting)
        self.updates, self.at, self.step = 0, 0.0, "starting"
        self.over = False
        """Whether the process has ended, after its last point."""
        self._error: dict[str, str] = {}
        self._half = b""
        self._scratch = [task.scratch for task in tasks]
        self._printed = self._scratch[0] / "printed.log"
        """File with the standard error of the process."""
        for task in tasks:
            task.write()
        with self._printed.open("wb") as printed:
            self._child = subprocess.Popen(
                [*command, *map(str, self._scratch)],
                stdin=subprocess.PIPE,  # never written to: it closes when this process ends
                stdout=subprocess.PIPE,
                stderr=printed,
                env={**os.environ, **_ONE_CORE, "TF_CPP_MIN_LOG_LEVEL": "3"},
                process_group=0,  # Ctrl-C is for the sweep, which ends its processes itself
            )

    def fileno(self) -> int:
        """Return the descriptor of the process's reports, for `select`."""
        assert self._child.stdout
        return self._child.stdout.fileno()

    def hear(self) -> list[PlayedPoint]:
        """Read the reports that have arrived, and return the points played since the last call.

        Blocks until there is a report, or the process has ended. Raises the error of a process that
        has ended before its last point.
        """
        data = os.read(self.fileno(), 1 << 16)
        if not data:
            self.over = True
            if self._waiting:
                raise self._failure()
        *lines, self._half = (self._half + data).split(b"\n")
        played = (self._take(json.loads(line)) for line in lines)
        return [point for point in played if point]

    def _take(self, report: dict[str, Any]) -> PlayedPoint | None:
        """Keep the progress or the error of `report`; return the point that it says is played."""
        if "facts" in report:
            self.updates, self.at, self.step = 0, 0.0, "starting"
            return PlayedPoint(self._waiting.popleft(), Path(report["folder"]), report["facts"])
        if "error" in report:
            self._error = report
        self.step = report.get("step", "")
        self.updates, self.at = report.get("updates", self.updates), report.get("at", self.at)
        return None

    @property
    def points(self) -> Sequence[Point]:
        """Points that are not played yet, the one in play first."""
        return self._waiting

    @property
    def share(self) -> float:
        return share_done(self._waiting, self.updates, self.at)

    def _failure(self) -> EmulatorError:
        """Return the error that ended the process, once it has ended."""
        code = self._child.wait()
        if self._error:
            kind = getattr(errors, self._error["error"], EmulatorError)
            error: EmulatorError = kind(self._error["message"])
        else:
            ending = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            printed = self._printed.read_text(errors="replace", encoding="utf-8")
            tail = printed[-_OUTPUT_TAIL:].strip()
            error = EmulatorError(f"the process that played a point {ending}\n{tail}".strip())
        error.add_note(f"the point is {self._waiting[0].label}")
        return error

    def end(self) -> None:
        """Kill the process if it still lives, and remove the scratch folders of its points.

        An unfinished point does not count. Its containers are removed first.
        """
        if self._containers and self._child.stdin:
            self._child.stdin.close()  # upon which the process cancels its run
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(_REMOVED)
        self._child.kill()
        with self._child:  # closes its pipes and waits for it
            pass
        for scratch in self._scratch:
            shutil.rmtree(scratch, ignore_errors=True)


def at_home(tasks: Sequence[PointTask]) -> Playing:
    """Start a process on this machine for `tasks`, of the runtime of their points."""
    return Process(tasks, PLAYERS[tasks[0].point.on])


def share_done(points: Sequence[Point], updates: int, at: float) -> float:
    """Return the share of the first of `points` that is done after `updates`, `at` its emulated
    seconds; 1 without points."""
    if not points:
        return 1.0
    stop = points[0].scenario.stop
    by_updates = updates / stop.updates if stop.updates else 0.0
    by_time = at / stop.time if stop.time else 0.0
    return min(1.0, max(by_updates, by_time, 0.0))


P = TypeVar("P", bound=Playing)


def heard(playing: Iterable[P]) -> list[P]:
    """Return those with something to `hear`, after up to `EVERY` seconds."""
    ready, _, _ = select.select([*playing], [], [], EVERY)
    return ready


# -- within the process -------------------------------------------------------------------------


Play = Callable[[Scenario, Path, RunView], Path]
"""Function that plays a scenario into a new run folder inside the given folder, and returns it."""

_REPORTED = 0.5
"""Wall-clock seconds between two progress reports."""


class _ProgressReport(ProgressView):
    """Run view that reports progress to the sweep."""

    def __init__(self, say: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(lambda step: say({"step": step}))
        self._say, self._due = say, 0.0
        self._updates = 0

    def record(self, record: Record) -> None:
        """Take a record of the log; updates drive the reports."""
        if isinstance(record, UpdateRecord):
            self._updates = record.updates
            self.beat(record.at)

    def beat(self, now: float) -> None:
        """Report virtual time `now` in seconds and the updates, at most once in
        `_REPORTED` seconds."""
        wall = time.monotonic()
        if wall >= self._due:
            self._due = wall + _REPORTED
            self._say({"at": now, "updates": self._updates})


def virtually(scenario: Scenario, scratch: Path, view: RunView) -> Path:
    """Play `scenario` in virtual time inside the folder `scratch`; return the run folder."""
    from ..runtimes.virtual.play_virtual import play

    # one core: the other cores play other points
    folder, _ = play(scenario, scratch, view, cores=1)
    return folder


def _exit() -> None:
    os._exit(1)


def main(play: Play = virtually, end: Callable[[], None] = _exit) -> None:
    """Play the points in the folders of `sys.argv`; report their results, or the first error.

    `end` ends the process early, from a thread, when the sweep has ended.
    """
    say = _channel()
    threading.Thread(target=_end_with_parent, args=[end], daemon=True).start()
    for scratch in map(Path, sys.argv[1:]):
        try:
            folder = play(load(scratch / SCENARIO), scratch, _ProgressReport(say))
            say({"folder": str(folder), "facts": facts(folder)})
        except EmulatorError as error:
            say({"error": type(error).__name__, "message": str(error)})
            sys.exit(1)


def _channel() -> Callable[[dict[str, Any]], None]:
    """Return a function that writes JSON lines to standard output, reserved for these.

    Other output of this process, of libraries for example, goes to standard error instead.
    """
    sys.stdout.flush()
    channel = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)

    def say(content: dict[str, Any]) -> None:
        channel.write(json.dumps(content) + "\n")

    return say


def _end_with_parent(end: Callable[[], None]) -> None:
    """Call `end`, which ends this process, once standard input closes."""
    while os.read(0, 1):
        pass
    end()
