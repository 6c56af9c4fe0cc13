"""What plays one point: `python -m emulator.sweep.play_point ROOM`, a process that a sweep started.

The scenario is in ROOM, the run folder is made there. Its standard output is the sweep's: a line
of JSON now and then on how far it is, and a last one with what came of it. Its standard input
says nothing; at its end the sweep is gone, by `kill -9` too, and so is this process.
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
from ..log.writing import Record
from ..runs.conductor import RunView
from ..scenario import Scenario, Timed, load
from .table import facts

SCENARIO = "scenario.yaml"

Play = Callable[[Scenario, Path, RunView], Path]
"""Plays the scenario into a new run folder inside the one given; returns that."""

_EVERY = 0.5
"""Wall seconds between two words on how far it is."""


class _Telling:
    """Passes on how far the run is, now and then."""

    def __init__(self, say: Callable[[dict[str, Any]], None]) -> None:
        self._say, self._due = say, 0.0
        self._updates = 0

    def take_timeline(self, timeline: Sequence[Timed]) -> None:
        pass

    def progress(self, text: str) -> None:
        self._say({"step": text})

    def record(self, record: Record) -> None:
        if record["what"] == "update":
            self._updates = record["updates"]
            self.beat(record["at"])

    def beat(self, now: float) -> None:
        wall = time.monotonic()
        if wall >= self._due:
            self._due = wall + _EVERY
            self._say({"at": now, "updates": self._updates})


def virtually(scenario: Scenario, room: Path, view: RunView) -> Path:
    from ..runtimes.virtual.play_virtual import play

    # the other cores play other points
    folder, _ = play(scenario, room, view, cores=1)
    return folder


def main(play: Play = virtually) -> None:
    say = _channel()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    room = Path(sys.argv[1])
    try:
        folder = play(load(room / SCENARIO), room, _Telling(say))
        say({"folder": str(folder), "facts": facts(folder)})
    except EmulatorError as error:
        say({"error": type(error).__name__, "message": str(error)})
        sys.exit(1)


def _channel() -> Callable[[dict[str, Any]], None]:
    """Takes the standard output for itself: what libraries print goes where errors go."""
    sys.stdout.flush()
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(content: dict[str, Any]) -> None:
        channel.write(json.dumps(content) + "\n")

    return say


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
