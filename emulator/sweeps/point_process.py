"""Process that plays one point of a sweep: `python -m emulator.sweeps SCRATCH`.

SCRATCH is the point's scratch folder: it holds the scenario, and the run folder is made there. The
process reports to the sweep on standard output, in lines of JSON: progress now and then, the
results at the end. The process ends when its standard input closes, which happens when the sweep
ends for any reason, `kill -9` included.
"""

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .. import errors
from ..errors import EmulatorError
from ..log.records import Record, UpdateRecord
from ..runs.conductor import ProgressView, RunView
from ..runs.plugin_sources import kept_scenario
from ..scenario import Scenario, load
from .point import Point
from .table import facts

SCENARIO = "scenario.yaml"
PLAYING = (sys.executable, "-m", "emulator.sweeps")

_ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
EVERY = 0.25
"""Wall-clock seconds between two looks at the processes in play."""
_OUTPUT_TAIL = 4000
"""Last characters of a dead process's output that its error message repeats."""


class Process:
    """Process that plays a point in the folder `scratch`, and ends with this process at the
    latest."""

    def __init__(
        self, point: Point, scenario: Scenario, scratch: Path, command: Sequence[str] = PLAYING
    ) -> None:
        """Start the process. `scenario` is the point's, completed by `preparation.prepare`."""
        self.point, self.scratch = point, scratch
        self.updates, self.at, self.step = 0, 0.0, "starting"
        self._last: dict[str, Any] = {}
        self._half = b""
        # the files of users may change while the point waits
        point.sources.write(scratch)
        (scratch / SCENARIO).write_text(kept_scenario(scenario, point.sources), encoding="utf-8")
        with self._printed.open("wb") as printed:
            self._child = subprocess.Popen(
                [*command, str(scratch)],
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

    def hear(self) -> bool:
        """Read the reports that have arrived; block until there are any. Return False at their
        end."""
        data = os.read(self.fileno(), 1 << 16)
        *lines, self._half = (self._half + data).split(b"\n")
        for line in lines:
            self._keep_report(json.loads(line))
        return bool(data)

    def _keep_report(self, report: dict[str, Any]) -> None:
        """Keep the latest report."""
        self._last = report
        self.step = report.get("step", "")
        self.updates, self.at = report.get("updates", self.updates), report.get("at", self.at)

    @property
    def share(self) -> float:
        """Share of the run that is done, from 0 to 1, as far as a stop condition tells."""
        stop = self.point.scenario.stop
        by_updates = self.updates / stop.updates if stop.updates else 0.0
        by_time = self.at / stop.time if stop.time else 0.0
        return min(1.0, max(by_updates, by_time, 0.0))

    def result(self) -> tuple[Path, dict[str, Any]]:
        """Return the run folder and its facts, or raise the process's error."""
        code = self._child.wait()
        if "facts" in self._last:
            return Path(self._last["folder"]), self._last["facts"]
        if "error" in self._last:
            error = getattr(errors, self._last["error"], EmulatorError)(self._last["message"])
        else:
            ending = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            printed = self._printed.read_text(errors="replace", encoding="utf-8")[
                -_OUTPUT_TAIL:
            ].strip()
            error = EmulatorError(f"the process that played a point {ending}\n{printed}".strip())
        error.add_note(f"the point is {self.point.label}")
        raise error

    def end(self) -> None:
        """Kill the process if it still lives; an unfinished point does not count."""
        self._child.kill()
        with self._child:  # closes its pipes and waits for it
            pass

    @property
    def _printed(self) -> Path:
        """File with the standard error of the process."""
        return self.scratch / "printed.log"


def ended(playing: Iterable[Process]) -> list[Process]:
    """Read the reports of `playing` for up to `EVERY` seconds; return those that have ended."""
    heard, _, _ = select.select([*playing], [], [], EVERY)
    return [process for process in heard if not process.hear()]


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


def main(play: Play = virtually) -> None:
    """Play the point in the folder `sys.argv[1]`; report its results or its error."""
    say = _channel()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    scratch = Path(sys.argv[1])
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


def _end_with_parent() -> None:
    """End this process, from a thread, once standard input closes."""
    while os.read(0, 1):
        pass
    os._exit(1)
