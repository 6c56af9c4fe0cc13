"""Virtual time at scale: traffic of up to a million devices, and training of two hundred."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from emulator.log.records import Record, UpdateRecord
from emulator.runtimes.virtual import virtual_runtime
from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.learning import job_pool
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Timed, loads
from tests.layers import ROOT

from .. import gradient
from . import bare

FLEETS = (1_000, 10_000, 100_000, 1_000_000)
RATED = "server.link={up: {rate: 10gbit}, down: {rate: 10gbit}}"
STEADY = 20_000, 120_000
"""Updates between which a fleet's events are timed; by then all devices are at work."""

TRAFFIC = """
# What does an event cost in a large fleet?
name: traffic
training: {dataset: mnist, model: mnist-cnn, batch_size: 10, algorithm: adacomp}
stop: {updates: 1000000}
virtual: {learner: none, step: {exponential: 20ms}, boot: 1s}
devices: [{name: home, count: 100000, link: cable}]
"""
TRAINING = """
# How much of a training in virtual time is training?
name: training
training:
  {dataset: mnist, model: mnist-cnn, batch_size: 10, algorithm: adacomp, learning_rate: 0.03}
evaluate: {every: 20000}
stop: {updates: 20000}
virtual: {step: {exponential: 20ms}, boot: 1s}
devices: [{name: home, count: 200, link: cable}]
"""


@dataclass
class Watch:
    """A View that reads the clock at two updates, and the processor's time at the first one."""

    first: int
    last: int
    heap: Heap | None = None
    seconds: float = 0.0
    events: int = 0
    before: float = 0.0
    """Seconds of the processor before the first update."""

    def take_timeline(self, timeline: Sequence[Timed]) -> None: ...

    def progress(self, text: str) -> None: ...

    def beat(self, now: float) -> None: ...

    def record(self, record: Record) -> None:
        if isinstance(record, UpdateRecord) and not self.before:
            self.before = time.process_time()
        if isinstance(record, UpdateRecord) and record.updates in (self.first, self.last):
            sign = 1 if record.updates == self.last else -1
            self.seconds += sign * time.perf_counter()
            self.events += sign * (self.heap.planned if self.heap else 0)


def traffic(devices: int, updates: int, *overrides: str) -> dict[str, float]:
    """Of a run with that many updates, in this process: nobody learns, only messages pass."""
    watch = Watch(min(STEADY[0], updates - 1), min(STEADY[1], updates))
    began, busy = time.perf_counter(), time.process_time()
    _play(TRAFFIC, watch, f"devices[0].count={devices}", f"stop.updates={updates}", *overrides)
    return {
        "devices": devices,
        "updates": updates,
        "seconds": time.perf_counter() - began,
        "busy_seconds": time.process_time() - busy,
        "seconds_before": watch.before - busy,
        "steady_seconds": watch.seconds,
        "steady_events": watch.events,
        "peak_bytes": _peak(),
    }


def _peak() -> int:
    """The peak memory of this process. `rusage` would count the memory of the parent too."""
    (line,) = [
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM:")
    ]
    return 1024 * int(line.split()[1])


def scaling() -> dict[str, list[dict[str, float]]]:
    """The same updates of ever larger fleets; `shared`: behind a rated link of the server's."""
    return {
        "own": [_apart("traffic", devices, STEADY[1]) for devices in FLEETS],
        "shared": [_apart("traffic", devices, STEADY[1], RATED) for devices in FLEETS],
    }


def large() -> dict[str, float]:
    """A hundred thousand devices, a million updates."""
    return _apart("traffic", 100_000, 1_000_000)


def training(updates: int) -> dict[str, float]:
    """A real training, between two looks at what gradients alone take on all cores.

    `bare`: as many times as gradients alone would take their encoding and the server's steps with
    them, if that were all.
    """
    cores = len(os.sched_getaffinity(0))
    before = _apart("gradients", cores)
    result = _apart("trained", updates)
    after = _apart("gradients", cores)
    rate = (before["a_second"] + after["a_second"]) / 2
    seconds = {"gradient_seconds": cores / rate, "bound_seconds": 1.5 * updates / rate}
    return {**result, **seconds, **_apart("least", cores, result["devices"])}


def gradients(processes: int) -> dict[str, float]:
    return {"a_second": gradient.rate(processes, 3.0)}


def least(processes: int, devices: int) -> dict[str, float]:
    took = bare.measure(processes, devices, rounds=40)
    return {"bare": took["update"] / took["gradient"]}


def trained(updates: int) -> dict[str, float]:
    """Seconds of a run in this process, and how many of its processor's were not learning."""
    learning = 0.0
    do, main = job_pool.Job.do, threading.get_ident()

    def timed(job: job_pool.Job[Any], tool: Any) -> None:
        nonlocal learning
        began = time.thread_time()
        do(job, tool)
        if threading.get_ident() == main:
            learning += time.thread_time() - began

    watch = Watch(1, updates)
    began, busy = time.perf_counter(), time.thread_time()
    with patch.object(job_pool.Job, "do", timed):
        _play(TRAINING, watch, f"stop.updates={updates}", f"evaluate.every={updates}")
    seconds, busy = time.perf_counter() - began, time.thread_time() - busy
    cores = len(os.sched_getaffinity(0))
    return {
        "devices": 200,
        "updates": updates,
        "seconds": seconds,
        "steady_seconds": watch.seconds,
        "share_of_heap_links_and_server": (busy - learning) / (cores * seconds),
    }


def _apart(what: str, *arguments: Any) -> dict[str, float]:
    """In a process of its own, whose memory and threads are nobody else's."""
    code = (
        "import json, sys; from tests.benchmarks.virtual import fleet; "
        f"print(json.dumps(fleet.{what}(*json.loads(sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _play(text: str, watch: Watch, *overrides: str) -> None:
    class Known(Heap):
        def __init__(self) -> None:
            super().__init__()
            watch.heap = self

    with tempfile.TemporaryDirectory() as runs, patch.object(virtual_runtime, "Heap", Known):
        play(loads(text, overrides), Path(runs), watch)
