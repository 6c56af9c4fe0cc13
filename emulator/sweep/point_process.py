"""The sweep's end of a process that plays one point."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import errors
from ..errors import EmulatorError
from ..scenario import Scenario, dump
from .play_point import SCENARIO
from .point import Point

PLAYING = (sys.executable, "-m", "emulator.sweep.play_point")

_ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_TELLING = 4000
"""Characters of what a process printed before it died that are worth repeating."""


class Process:
    """Plays a point in `room`; it does not outlive this process, however that one ends."""

    def __init__(
        self, point: Point, scenario: Scenario, room: Path, command: Sequence[str] = PLAYING
    ) -> None:
        """`scenario` is the point's, with all that had to be found out for it."""
        self.point, self.room = point, room
        self.updates, self.at, self.step = 0, 0.0, "starting"
        self._last: dict[str, Any] = {}
        self._half = b""
        (room / SCENARIO).write_text(dump(scenario))
        with self._printed.open("wb") as printed:
            self._child = subprocess.Popen(
                [*command, str(room)],
                stdin=subprocess.PIPE,  # never written to: its end is ours
                stdout=subprocess.PIPE,
                stderr=printed,
                env={**os.environ, **_ONE_CORE, "TF_CPP_MIN_LOG_LEVEL": "3"},
                process_group=0,  # Ctrl-C is for the sweep, which ends its processes itself
            )

    def fileno(self) -> int:
        """Where to wait for what it says."""
        assert self._child.stdout
        return self._child.stdout.fileno()

    def hear(self) -> bool:
        """Take in what it has said, at least something; False once it has no more to say."""
        said = os.read(self.fileno(), 1 << 16)
        *lines, self._half = (self._half + said).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        return bool(said)

    def _take(self, said: dict[str, Any]) -> None:
        self._last = said
        self.step = said.get("step", "")
        self.updates, self.at = said.get("updates", self.updates), said.get("at", self.at)

    @property
    def share(self) -> float:
        """How much of the way to a stop condition it has come, where that can be foretold."""
        stop = self.point.scenario.stop
        by_updates = self.updates / stop.updates if stop.updates else 0.0
        by_time = self.at / stop.time if stop.time else 0.0
        return min(1.0, max(by_updates, by_time, 0.0))

    def result(self) -> tuple[Path, dict[str, Any]]:
        """The run folder that it made and the facts of it, or the error that it had."""
        code = self._child.wait()
        if "facts" in self._last:
            return Path(self._last["folder"]), self._last["facts"]
        if "error" in self._last:
            error = getattr(errors, self._last["error"], EmulatorError)(self._last["message"])
        else:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            printed = self._printed.read_text(errors="replace")[-_TELLING:].strip()
            error = EmulatorError(f"the process that played a point {how}\n{printed}".strip())
        error.add_note(f"that was {self.point.label}")
        raise error

    def end(self) -> None:
        """Kill it, if it still lives: what it has made so far does not count."""
        self._child.kill()
        with self._child:  # closes its pipes and waits for it
            pass

    @property
    def _printed(self) -> Path:
        return self.room / "printed.log"
