"""What devices cost while a run lasts: the conductor, the server, their host, the run's log."""

import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emulator.errors import EmulatorError
from emulator.log.lines import read
from emulator.log.records import Record, StartRecord
from emulator.runtimes.docker.configs.spec import BOX, FORK_SERVER
from emulator.runtimes.docker.engine.cleanup import ROLE, RUN
from emulator.runtimes.docker.engine.client import connect
from emulator.runtimes.docker.play_containers import play
from emulator.scenario import Timed, loads

from .. import books

SCENARIO = """
name: host-costs
training: {{dataset: mnist, model: mnist-cnn, algorithm: adacomp, batch_size: 10}}
evaluate: {{every: 1000000}}
stop: {{time: {seconds}s}}
server: {{encrypt: true}}
devices:
  - {{name: home, count: {devices}, link: {link}, profile: {{memory: 512MiB}}}}
"""
STEADY = 0.25, 0.95
"""The part of a run that counts: after the first evaluation, before the end."""
GROUPS = {"device": "workers", "server": "server", "evaluator": "evaluator", BOX: "box"}
"""Role of a container -> the name of its part in the books."""
OF_AN_UPDATE = ("pull", "update", "compression")
_TICK = 1.0 / os.sysconf("SC_CLK_TCK")


def measure(devices: int, link: str, seconds: float) -> dict[str, float]:
    """Play `devices` devices on `link` for `seconds`, encrypted; return their costs.

    For a device and second: `updates_per_device_second`; milliseconds of a core in `worker_ms`,
    `supervisor_ms`, `box_ms`, `conductor_ms`, `conductor_thread_ms` (its main thread) and
    `server_thread_ms` (its busiest thread); `down_bytes` and `up_bytes` at the server;
    `second_log_bytes`, lines that no update wrote. For an update: `server_update_ms` of a core,
    `update_log_bytes`. For a container, until the run's zero: `start_ms` of the conductor,
    `hello_bytes` to the server. `read_log_mb`: megabytes of the log that a process reads in a
    second.
    """
    with tempfile.TemporaryDirectory() as folder:
        watch = Watch(Path(folder), seconds)
        text = SCENARIO.format(devices=devices, link=link, seconds=f"{seconds:g}")
        run, summary = play(loads(text), Path(folder), watch)
        if len(watch.looks) < len(STEADY):
            raise EmulatorError(f"the run ended ({summary['stop']}) before it was measured")
        return _costs(watch, run / "run.jsonl", devices)


def _costs(watch: "Watch", log: Path, devices: int) -> dict[str, float]:
    first, last = watch.looks
    spent = last.books.since(first.books)
    window = [record for record in _lines(log) if first.at < record[1]["at"] <= last.at]
    updates = sum(record["what"] == "update" for _, record in window)
    bytes_of = {True: 0, False: 0}
    for size, record in window:
        bytes_of[record["what"] in OF_AN_UPDATE] += size
    traffic = [record for _, record in window if _of_server(record)]
    early = [record for _, record in _lines(log) if _of_server(record) and record["at"] <= 0]
    device_seconds = devices * (last.at - first.at)
    threads = {
        thread: used - first.threads.get(thread, 0.0) for thread, used in last.threads.items()
    }
    began = time.process_time()
    number = sum(1 for _ in read(log))
    assert number
    took = time.process_time() - began
    return {
        "updates_per_device_second": updates / device_seconds,
        "worker_ms": 1e3 * spent["workers"] / device_seconds,
        "supervisor_ms": 1e3 * spent["supervisors"] / device_seconds,
        "box_ms": 1e3 * spent["box"] / device_seconds,
        "conductor_ms": 1e3 * (last.conductor - first.conductor) / device_seconds,
        "conductor_thread_ms": 1e3 * (last.thread - first.thread) / device_seconds,
        "start_ms": 1e3 * watch.start / (devices + 2),
        "server_thread_ms": 1e3 * max(threads.values()) / device_seconds,
        "server_update_ms": 1e3 * spent["server"] / updates,
        "down_bytes": _rate(traffic, "tx") / devices,
        "up_bytes": _rate(traffic, "rx") / devices,
        "hello_bytes": early[-1]["rx"] / (devices + 1),
        "update_log_bytes": bytes_of[True] / updates,
        "second_log_bytes": bytes_of[False] / device_seconds,
        "read_log_mb": log.stat().st_size / took / 1e6,
    }


def _lines(log: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the bytes and the content of each line."""
    for line in log.read_bytes().splitlines(keepends=True):
        yield len(line), json.loads(line)


def _rate(traffic: Sequence[dict[str, Any]], way: str) -> float:
    """Return the bytes a second between the first and the last of records, which count all."""
    first, last = traffic[0], traffic[-1]
    return float((last[way] - first[way]) / (last["at"] - first["at"]))


def _of_server(record: dict[str, Any]) -> bool:
    return record["what"] == "traffic" and record["node"] == "server"


@dataclass(frozen=True)
class Look:
    """Processor time at a moment of the run, in seconds."""

    at: float
    books: books.Books
    conductor: float
    """Of this process."""
    thread: float
    """Of the thread that conducts."""
    threads: dict[str, float]
    """Of the server's threads."""


@dataclass
class Watch:
    """A view that looks twice, at the ends of the run's steady part."""

    runs: Path
    seconds: float
    looks: list[Look] = field(default_factory=list)
    start: float = field(default_factory=lambda: -time.process_time())
    """Processor time of this process until the run's zero, once the run has begun."""
    _nodes: dict[str, list[int]] = field(default_factory=dict)

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None: ...

    def record(self, record: Record) -> None:
        if isinstance(record, StartRecord):
            self.start += time.process_time()
            self._nodes = self._find()

    def beat(self, now: float) -> None:
        if len(self.looks) < len(STEADY) and now >= STEADY[len(self.looks)] * self.seconds:
            # the books take this process some milliseconds: before the last look they do not count
            own = time.process_time(), time.thread_time()
            read_now = books.read(self._nodes)
            if not self.looks:
                own = time.process_time(), time.thread_time()
            *_, server = self._nodes["server"]  # behind its supervisor
            self.looks.append(Look(now, read_now, *own, _threads(server)))

    def _find(self) -> dict[str, list[int]]:
        """Return process ids: a supervisor is its container's first process, its part the child."""
        run = next(self.runs.glob("*/latest")).resolve().name.rpartition("-")[2]
        found: dict[str, list[int]] = {name: [] for name in ("supervisors", *GROUPS.values())}
        for container in connect().containers.list(filters={"label": f"{RUN}={run}"}):
            role, first = container.labels[ROLE], container.attrs["State"]["Pid"]
            if role == FORK_SERVER:  # it is about to end
                continue
            parts = books.children(first)
            known = "supervisors" if role == "device" else GROUPS[role]
            found[known].append(first)
            found[GROUPS[role]] += parts
        return found


def _threads(process: int) -> dict[str, float]:
    """Return the seconds of processor time of each thread of `process`."""
    used = {}
    for task in (books.PROC / str(process) / "task").iterdir():
        words = (task / "stat").read_text().rpartition(") ")[2].split()
        used[task.name] = _TICK * (int(words[11]) + int(words[12]))
    return used
