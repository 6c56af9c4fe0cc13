"""Times of the gate's tests, by lane: each lane writes its own.

`make test` passes `--times=build/times/LANE.json` to each of its lanes; behind a space pytest would
take the path of a file that is there for tests. Its last step is `python -m tests.gate.times`,
which prints what each lane took, its slowest modules, and the sum, and fails above the budget.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.layers import ROOT

OPTION = "--times"
WRITTEN = ROOT / "build" / "times"
MODULES = 5
"""Slowest modules of a lane that are printed."""

LANES = ("quick", "slow", "containers", "times", "again")
"""What `make test` plays; `make test-all` has further lanes."""

BUDGET = 30 * 60.0
"""Seconds that the lanes may take together, on a host whose loop takes up to `LOOP` seconds."""

LOOP = 0.04
"""A slower host has as much more time: two such hosts differ by a factor of two."""


def loop() -> float:
    """Return the seconds that two million additions take on this host, the best of five times."""
    took = []
    for _ in range(5):
        began, number = time.perf_counter(), 0
        while number < 2_000_000:
            number += 1
        took.append(time.perf_counter() - began)
    return min(took)


class Times:
    """Sums the seconds of a session's tests by module, and writes them at its end."""

    def __init__(self, file: Path) -> None:
        self._file, self._loop, self._began = file, loop(), time.monotonic()
        self._modules: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._modules[report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]

    @pytest.hookimpl(trylast=True)  # once the workers have ended
    def pytest_sessionfinish(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        wall = round(time.monotonic() - self._began, 1)
        modules = {name: round(own, 1) for name, own in sorted(self._modules.items())}
        self._file.write_text(
            json.dumps({"wall": wall, "loop": round(self._loop, 4), "modules": modules}, indent=1)
            + "\n"
        )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option, for tests/conftest.py."""
    parser.addoption(OPTION, type=Path, help="write the seconds of each module to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Time the session if asked to; of several processes the one that reports."""
    file = config.getoption(OPTION)
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times(file), "times")


def complaint(lanes: Mapping[str, Any]) -> str:
    """Return by how much the lanes of a gate are above the budget; empty if they are not."""
    slower = max(1.0, *(lane["loop"] / LOOP for lane in lanes.values()))
    took, budget = sum(lane["wall"] for lane in lanes.values()), BUDGET * slower
    if took <= budget:
        return ""
    return (
        f"the tests took {took:.0f} s, and {budget:.0f} s is their budget on this host: make the "
        "slowest of them cheaper, or mark them as thorough"
    )


def main() -> None:
    """Print the times of the last gate; fail if they are above the budget."""
    files = [WRITTEN / f"{name}.json" for name in LANES]
    lanes: dict[str, Any] = {f.stem: json.loads(f.read_text()) for f in files if f.exists()}
    if not lanes:
        sys.exit(f"{WRITTEN} has no times: run `make test` first")
    for name, lane in lanes.items():
        print(f"{name:10} {lane['wall']:6.0f} s")
        slowest = sorted(lane["modules"].items(), key=lambda row: -row[1])[:MODULES]
        for module, seconds in slowest:
            print(f"    {seconds:6.1f} s  {module}")
    print(f"{'sum':10} {sum(lane['wall'] for lane in lanes.values()):6.0f} s")
    sys.exit(complaint(lanes) or None)


if __name__ == "__main__":
    main()
