"""Process that plays one point of a sweep: `python -m emulator.sweeps.play_point SCRATCH`.

SCRATCH is the point's scratch folder: it holds the scenario, and the run folder is made there. The
process reports to the sweep on standard output, in lines of JSON: progress now and then, the
results at the end. The process ends when its standard input closes, which happens when the sweep
ends for any reason, `kill -9` included.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import EmulatorError
from ..log.records import Record, UpdateRecord
from ..runs.conductor import RunView
from ..scenario import Scenario, Timed, load
from .table import facts

SCENARIO = "scenario.yaml"

Play = Callable[[Scenario, Path, RunView], Path]
"""Function that plays a scenario into a new run folder inside the given folder, and returns it."""

_EVERY = 0.5
"""Wall-clock seconds between two progress reports."""


class _ProgressReport:
    """Run view that reports progress to the sweep."""

    def __init__(self, say: Callable[[dict[str, Any]], None]) -> None:
        self._say, self._due = say, 0.0
        self._updates = 0

    def take_timeline(self, timeline: Sequence[Timed]) -> None:
        pass

    def progress(self, text: str) -> None:
        """Report a step of the start-up."""
        self._say({"step": text})

    def record(self, record: Record) -> None:
        """Take a record of the log; updates drive the reports."""
        if isinstance(record, UpdateRecord):
            self._updates = record.updates
            self.beat(record.at)

    def beat(self, now: float) -> None:
        """Report virtual time `now` in seconds and the updates, at most once in `_EVERY`
        seconds."""
        wall = time.monotonic()
        if wall >= self._due:
            self._due = wall + _EVERY
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


if __name__ == "__main__":
    main()
