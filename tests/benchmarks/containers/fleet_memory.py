"""Where the memory of a fleet goes: scenarios/fleet-200.yaml, sampled from outside once a minute.

    python -m tests.benchmarks.containers.fleet_memory [KEY=VALUE …]   (overrides of the scenario)

A page that several processes share is divided among them. The host's sum is what it has less for
new processes than before the run, so it counts what else begins or ends meanwhile.

A device that comes back has an executed worker in place of the first one, which was a fork. So the
sum grows until each device that comes and goes has been away once. The exit code is 1 if the sum,
with all workers as large as the first ones are, grows by more than a twentieth from the second
sample to the last.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from emulator.log.records import Record, StartRecord
from emulator.runtimes.docker.configs.spec import BOX, FORK_SERVER
from emulator.runtimes.docker.engine.cleanup import ROLE, RUN
from emulator.runtimes.docker.engine.client import connect
from emulator.runtimes.docker.play_containers import play
from emulator.scenario import Timed, load
from tests.layers import ROOT

from .. import books

SCENARIO = ROOT / "scenarios" / "fleet-200.yaml"
EVERY, MOST_GROWTH = 60.0, 0.05
"""Seconds between two samples; largest growth from the second to the last."""
ENGINE = ("dockerd", "containerd")
PARTS = (
    "first workers",
    "later workers",
    "supervisors",
    "server",
    "evaluator",
    "box",
    "shims",
    "engine",
    "conductor",
)
MEBI = 2**20


class Watch:
    """A view that samples the memory of the run's processes, and of the host."""

    def __init__(self, runs: Path) -> None:
        self._runs, self._client, self._before = runs, connect(), books.available()
        self._began, self._due = time.monotonic(), 0.0
        self._fleet: dict[str, list[int]] = {}
        self._first: set[int] = set()
        self.sums: list[float] = []
        self.alike: list[float] = []
        """Sums of the host as they would be if all workers were as large as the first ones."""

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None: ...

    def record(self, record: Record) -> None:
        if isinstance(record, StartRecord):
            took = time.monotonic() - self._began
            print(f"all {record.devices} devices have said hello after {took:.0f} s")
            print(f"{'min':>5}  {'host':>7}  {'  '.join(f'{part:>13}' for part in PARTS)}   MiB")
            self._fleet = self._find()
            self._first = set(self._workers())
            self._began, self._due = time.monotonic(), 0.0

    def beat(self, now: float) -> None:
        past = time.monotonic() - self._began
        if not self._fleet or past < self._due:
            return
        self._due += EVERY
        sizes = {part: [*map(proportional, self._processes(part))] for part in PARTS}
        self.sums.append((self._before - books.available()) / MEBI)
        first, later = sizes["first workers"], sizes["later workers"]
        surplus = sum(later) - len(later) * mean(first) if first else 0
        self.alike.append(self.sums[-1] - surplus / MEBI)
        row = "  ".join(f"{_cell(part, own):>13}" for part, own in sizes.items())
        print(f"{past / 60:5.1f}  {self.sums[-1]:7.0f}  {row}", flush=True)

    def _find(self) -> dict[str, list[int]]:
        """Process ids of the containers' first processes, and of the engine's, by part."""
        run = next(self._runs.glob("*/latest")).resolve().name.rpartition("-")[2]
        fleet: dict[str, list[int]] = {part: [] for part in PARTS}
        for container in self._client.containers.list(filters={"label": f"{RUN}={run}"}):
            if (role := container.labels[ROLE]) != FORK_SERVER:
                known = {"device": "supervisors", BOX: "box"}.get(role, role)
                first = container.attrs["State"]["Pid"]
                fleet[known].append(first)
                fleet["shims"].append(parent(first))
        fleet["engine"] = [pid for pid, name in books.names() if name in ENGINE]
        return fleet

    def _processes(self, part: str) -> list[int]:
        if part == "first workers":
            return [worker for worker in self._workers() if worker in self._first]
        if part == "later workers":
            return [worker for worker in self._workers() if worker not in self._first]
        firsts = self._fleet[part]
        if part in ("server", "evaluator"):
            return [*firsts, *(child for first in firsts for child in books.children(first))]
        return [*firsts, *([own()] if part == "conductor" else [])]

    def _workers(self) -> list[int]:
        return [child for first in self._fleet["supervisors"] for child in books.children(first)]


def _cell(part: str, sizes: Sequence[int]) -> str:
    """Return the sum of `sizes` in MiB, with their number if they are workers."""
    size = f"{sum(sizes) / MEBI:.0f}"
    return f"{len(sizes)}: {size}" if part.endswith("workers") else size


def own() -> int:
    return int(Path("/proc/self").resolve().name)


def parent(process: int) -> int:
    return int((books.PROC / str(process) / "stat").read_text().rpartition(") ")[2].split()[1])


def proportional(process: int) -> int:
    """Bytes of the process, of shared pages its share; 0 once it has ended."""
    try:
        lines = (books.PROC / str(process) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="keys of the scenario")
    scenario = load(SCENARIO, parser.parse_args().overrides)
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder))
        _, summary = play(scenario, Path(folder), watch)
    devices, most = len(scenario.nodes), max(watch.sums)
    dilation = summary["fidelity"]["dilation"]
    print(f"{summary['outcome']}, {summary['updates']} updates, dilation {dilation:g}")
    print(f"most: {most / 1024:.1f} GiB, {most / devices:.1f} MiB for each of {devices} devices")
    for name, sums in (("the sum", watch.sums), ("with workers alike it", watch.alike)):
        grown = sums[-1] / sums[min(1, len(sums) - 1)] - 1
        print(f"from the second sample to the last {name} grew by {grown:.1%}")
    if grown > MOST_GROWTH:
        sys.exit(f"the memory of the fleet grew by more than {MOST_GROWTH:.0%}")


if __name__ == "__main__":
    main()
