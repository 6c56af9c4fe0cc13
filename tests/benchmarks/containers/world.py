"""How many updates a second a real run does, and on what it spends the cores meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from emulator.errors import EmulatorError
from emulator.log.lines import read
from emulator.log.records import Record, StartRecord, UpdateRecord
from emulator.runs.folder import RUNS
from emulator.runtimes.docker.configs.spec import FORK_SERVER
from emulator.runtimes.docker.engine.cleanup import ROLE, RUN
from emulator.runtimes.docker.engine.client import connect
from emulator.runtimes.docker.play_containers import play
from emulator.scenario import Timed, load
from tests.layers import ROOT

from .. import books

SCENARIO = ROOT / "scenarios" / "bench.yaml"
STEADY = 0.2, 0.8
"""The part of a run that counts: after the first evaluation, before the end."""

GROUPS = {"device": "workers", "server": "server", "evaluator": "evaluator", "": "supervisors"}
"""Role of a container -> what its part is called in the books."""


def measure(*, encrypt: bool, seconds: float, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Play the scenario, with `overrides`, for so long; the run's folder stays under runs/bench."""
    own = [f"stop.time={seconds:g}s", f"server.encrypt={str(encrypt).lower()}"]
    scenario = load(SCENARIO, [*own, *overrides])
    meter = Meter(scenario.name, seconds)
    folder, summary = play(scenario, RUNS, meter)
    if not meter.spent:
        raise EmulatorError(f"the run ended ({summary['stop']}) before it was measured: {folder}")
    began, ended = meter.window
    updates = sum(
        isinstance(record, UpdateRecord) and began < record.at <= ended
        for record in read(folder / "run.jsonl")
    )
    return {
        "updates_per_second": updates / (ended - began),
        "milliseconds_per_update": {who: 1e3 * used / updates for who, used in meter.spent.items()},
        "others_share": meter.spent.get("others", 0.0) / meter.capacity,
        "private_bytes": meter.private,
        "accuracy": summary["final_accuracy"],
        "compression_ratio": summary["compression_ratio"],
        "run": str(folder),
    }


@dataclass
class Meter:
    """A view that reads the kernel's books at both ends of the run's steady part."""

    scenario: str
    seconds: float
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds of CPU in the window, by who used them."""
    capacity: float = 1.0
    """Seconds of CPU that the window had."""
    private: dict[str, int] = field(default_factory=dict)
    """Bytes of private memory of the largest process of each group."""
    _nodes: dict[str, list[int]] = field(default_factory=dict)
    _looks: list[tuple[float, books.Books]] = field(default_factory=list)

    @property
    def window(self) -> tuple[float, float]:
        return self._looks[0][0], self._looks[-1][0]

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None: ...

    def record(self, record: Record) -> None:
        if isinstance(record, StartRecord):
            self._nodes = self._find()

    def beat(self, now: float) -> None:
        if len(self._looks) < len(STEADY) and now >= STEADY[len(self._looks)] * self.seconds:
            self._looks.append((now, books.read(self._nodes)))
            if len(self._looks) == len(STEADY):
                first, last = (look for _, look in self._looks)
                self.spent, self.capacity = last.since(first), last.total - first.total
                self.private = self._weigh()

    def _find(self) -> dict[str, list[int]]:
        """Process ids: each supervisor is its container's first process, its part the child."""
        run = (RUNS / self.scenario / "latest").resolve().name.rpartition("-")[2]
        result: dict[str, list[int]] = {name: [] for name in GROUPS.values()}
        for container in connect().containers.list(filters={"label": f"{RUN}={run}"}):
            if container.labels[ROLE] == FORK_SERVER:  # it is about to end
                continue
            supervisor = container.attrs["State"]["Pid"]
            result["supervisors"].append(supervisor)
            result[GROUPS[container.labels[ROLE]]] += books.children(supervisor)
        return result

    def _weigh(self) -> dict[str, int]:
        heavy: dict[str, int] = {}
        for group, processes in self._nodes.items():
            sizes = [size for size in map(books.private, processes) if size is not None]
            if sizes:
                heavy[group] = max(sizes)
        return heavy
