"""Times of the gate's tests, by lane: each lane writes its own.

`make test` passes `--times=build/times/LANE.json` to each of its lanes; behind a space pytest would
take the path of a file that is there for tests. After a whole gate `python -m tests.gate.times`
prints what each lane took, its slowest modules, and the sum.
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.layers import ROOT

OPTION = "--times"
WRITTEN = ROOT / "build" / "times"
MODULES = 5
"""Slowest modules of a lane that are printed."""


class Times:
    """Sums the seconds of a session's tests by module, and writes them at its end."""

    def __init__(self, file: Path) -> None:
        self._file, self._began = file, time.monotonic()
        self._modules: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._modules[report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]

    @pytest.hookimpl(trylast=True)  # once the workers have ended
    def pytest_sessionfinish(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        wall = round(time.monotonic() - self._began, 1)
        modules = {name: round(own, 1) for name, own in sorted(self._modules.items())}
        self._file.write_text(json.dumps({"wall": wall, "modules": modules}, indent=1) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option, for tests/conftest.py."""
    parser.addoption(OPTION, type=Path, help="write the seconds of each module to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Time the session if asked to; of several processes the one that reports."""
    file = config.getoption(OPTION)
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times(file), "times")


def main() -> None:
    """Print the times of the last gate."""
    lanes: dict[str, Any] = {
        file.stem: json.loads(file.read_text()) for file in sorted(WRITTEN.glob("*.json"))
    }
    if not lanes:
        sys.exit(f"{WRITTEN} has no times: run `make test` first")
    for name, lane in lanes.items():
        print(f"{name:8} {lane['wall']:6.0f} s")
        slowest = sorted(lane["modules"].items(), key=lambda row: -row[1])[:MODULES]
        for module, seconds in slowest:
            print(f"  {seconds:6.1f} s  {module}")
    print(f"{'sum':8} {sum(lane['wall'] for lane in lanes.values()):6.0f} s")


if __name__ == "__main__":
    main()
