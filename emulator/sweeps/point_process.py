"""Parent's side of a process that plays a point."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import errors
from ..errors import EmulatorError
from ..runs.plugin_sources import kept_scenario
from ..scenario import Scenario
from .play_point import SCENARIO
from .point import Point

PLAYING = (sys.executable, "-m", "emulator.sweeps.play_point")

_ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
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
