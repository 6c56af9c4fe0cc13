"""Measure a worker at work: the very one of the containers, on the loopback, by the kernel's books.

Its process is asked for CPU time, not the clock on the wall: that is what a quota limits, and what
else runs here adds little to it. What the worker takes in over a real link costs it more than here,
up to 50 µs for each segment of a slow one; but that is while the link is what it waits for.
"""

import io
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import numpy as np

from .. import chance, codecs, models
from ..codecs import AnyCodec
from ..core.heartbeat import Heartbeat
from ..core.plan import Plan, WorkerPlan
from ..core.server import ParameterServer
from ..datasets import shard
from ..datasets.examples import Examples
from ..errors import HostError
from ..learners.export import exported
from ..log.writing import Record, RunLog
from ..models.task import Task
from ..node import config, server_role
from ..transport import drive
from ..transport.router import Router
from ..transport.secrets import issue
from ..units import Seconds
from ..world.laws import Fixed, LogNormal
from .cpu_clock import CHILD, clock
from .record import Calibration, described, here, rounded

WORKERS = 3
"""Workers one after the other: much hangs on how a single one starts and where its memory lies."""

WARM = 5
"""Steps of each that do not count: the memory that the later ones use again is new to them."""

REST = 0.05
"""Seconds without work before each step: a device waits for its link, and others use the caches.
A step takes a fifth longer then than right after another."""

SELDOM = 0.2
"""Seconds without work before each step of one that is only to feel how busy the host is."""

STEPS = 30
"""Steps of each that count, if they do not take longer than `SPAN`."""

SPAN = 2.0
"""Seconds after which a few steps of a worker must do."""

FEW = 5

LEARNING_RATE = 1e-3
"""So small that nothing diverges, however little there is to learn from noise."""

ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "67108864",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
"""What a container's environment has of weight for how fast a worker is."""

_NODE, _FILE = "worker", "node.json"

_WORKER = f"""{CHILD}
import sys
from pathlib import Path
from emulator.node import config, role
data, config.GRAPH = map(Path, sys.argv[1:])
config.SHARD, node = data, config.read(data / {_FILE!r})
role.work(node, node.part, 0)
"""
"""`emulator.node.role`, with folders of this host for those of a container. As there, it ends with
its standard input."""


def measure(
    model: str,
    batch_size: int,
    codec: AnyCodec,
    tell: Callable[[str], None],
    *,
    error_feedback: bool = False,
) -> Calibration:
    """What a worker takes on a core of this host; keeps nothing. Some seconds.

    A ValueError if there is no such model; a HostError says what the host lacks.
    """
    about = models.find(model)
    tell("graphs")
    graph = exported(model)
    tell(f"calibrating {model}, batch {batch_size}: a few seconds")
    with _bench(about, batch_size, codec, error_feedback, graph) as bench:
        meters = [bench.play(StepMeter()) for _ in range(WORKERS)]
    host, processor = here()
    return Calibration(
        host=host,
        processor=processor,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        model=model,
        batch_size=batch_size,
        codec=described(codec, error_feedback),
        step=law([step for meter in meters for step in meter.steps]),
        # what comes in between, as a cold page cache, can only add
        boot=Fixed(Seconds(rounded(min(meter.readings[0] for meter in meters)))),
        serve=median([time for meter in meters for time in meter.served]),
    )


@contextmanager
def alongside(
    model: str, batch_size: int, codec: AnyCodec, *, error_feedback: bool = False
) -> Iterator["StepMeter"]:
    """Measure while something else goes on here: a step now and then, less than five a second.

    What runs meanwhile costs a step caches and interrupts, and a virtual machine changes its speed.
    The meter is complete when the context ends. A HostError if the worker did not last so long.
    """
    about, meter, graph = models.find(model), StepMeter(SELDOM, endless=True), exported(model)
    with (
        _bench(about, batch_size, codec, error_feedback, graph) as bench,
        ThreadPoolExecutor(1) as beside,
    ):
        played = beside.submit(bench.play, meter)
        try:
            yield meter
        finally:
            meter.stop()
        played.result()


def median(times: list[float]) -> Fixed:
    """The law that it is always their median."""
    return Fixed(Seconds(rounded(float(np.median(times)))))


def law(steps: list[float]) -> LogNormal:
    """The log-normal law with their median and quartiles: single ones that went astray change it
    little."""
    low, median, high = np.quantile(steps, [0.25, 0.5, 0.75])
    sigma = math.log(high / low) / 1.349  # how many sigmas a normal law's quartiles are apart
    return LogNormal((Seconds(rounded(median)), max(1e-3, rounded(sigma))))


@dataclass
class StepMeter:
    """Reads a worker's CPU clock, and that of the server's thread, at its hello and its updates."""

    rest: float = REST
    """Seconds without work before each step."""
    endless: bool = False
    """Whether only `stop` ends it, from another thread; otherwise `STEPS` do."""
    clock: Callable[[], float] = field(default=lambda: 0.0)
    """Reads the CPU time of the worker."""
    readings: list[float] = field(default_factory=list)
    serving: list[float] = field(default_factory=list)
    _until: float = math.inf
    _stopped: bool = False

    def stop(self) -> None:
        self._stopped = True

    def refined(self, found: Calibration) -> Calibration:
        """With what was read here of a step and of the server, if it is enough to tell."""
        if len(self.steps) < FEW:
            return found
        return replace(found, step=law(self.steps), serve=median(self.served))

    def note(self, record: Record) -> None:
        if record["what"] in ("start", "update"):
            self.readings.append(self.clock())
            self.serving.append(time.thread_time())
            time.sleep(self.rest)
        if len(self.readings) == 1 + WARM:
            self._until = time.monotonic() + SPAN

    @property
    def steps(self) -> list[float]:
        """CPU time from each update to the next, once warm."""
        return [float(step) for step in np.diff(self.readings[1 + WARM :])]

    @property
    def served(self) -> list[float]:
        """CPU time of the thread that is the server, from each update to the next."""
        return [float(time) for time in np.diff(self.serving[1 + WARM :])]

    @property
    def full(self) -> bool:
        if self.endless:
            return self._stopped
        enough = FEW if time.monotonic() > self._until else STEPS
        return len(self.steps) >= enough


@contextmanager
def _bench(
    model: models.Model, batch_size: int, codec: AnyCodec, error_feedback: bool, graph: Path
) -> Iterator["_Bench"]:
    with tempfile.TemporaryDirectory(prefix="emulate-") as folder:
        shard.write(Path(folder), _noise(model.task, batch_size))
        yield _Bench(model, batch_size, codec, error_feedback, graph, Path(folder))


def _noise(task: Task, batch_size: int) -> Examples:
    rng, count = chance.stream(chance.CALIBRATION), max(2000, batch_size)
    levels, scale = (256, 255) if task.inputs == "images" else (task.classes, 1)
    inputs = rng.integers(0, levels, (count, *task.shape), np.uint8)
    return Examples(inputs, rng.integers(0, task.classes, (count, *task.answers), np.uint8), scale)


@dataclass(frozen=True)
class _Bench:
    """One server here, one worker in a process of its own, again and again."""

    model: models.Model
    batch_size: int
    codec: AnyCodec
    error_feedback: bool
    graph: Path
    folder: Path

    def play(self, meter: StepMeter) -> StepMeter:
        guests, secrets = issue([_NODE], encrypt=False)
        heartbeat, size = Heartbeat(), self.model.layout.size
        plan = self._plan
        part = config.ServerRole(guests, heartbeat, plan)
        with Router("tcp://127.0.0.1:*", guests, heartbeat, 4 * size + server_role.SLACK) as router:
            to = config.ServerAddress(router.address, secrets[_NODE], heartbeat, patience=60.0)
            worker = config.WorkerRole(to, plan.worker)
            config.write(config.NodeConfig(_NODE, os.getuid(), worker), self.folder / _FILE)
            with self._worker() as (process, said):
                meter.clock = clock(process)
                log = RunLog(io.BytesIO(), meter.note)
                server = server_role.build(part, log)
                drive.serve(server, router, canceled=lambda: _ending(meter, process))
                _check(server, meter, said)
        return meter

    @property
    def _plan(self) -> Plan:
        """The plan of an asynchronous run of one worker, without a stop condition."""
        codec = codecs.plain(self.codec)
        worker = WorkerPlan(0, self.batch_size, codec, self.error_feedback)
        return Plan(worker, self.model.name, LEARNING_RATE, workers=(_NODE,))

    @contextmanager
    def _worker(self) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
        command = [sys.executable, "-c", _WORKER, str(self.folder), str(self.graph)]
        with (
            tempfile.TemporaryFile() as said,
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env={**os.environ, **ENVIRONMENT},
            ) as process,
        ):
            try:
                yield process, said
            finally:
                process.kill()


def _ending(meter: StepMeter, process: "subprocess.Popen[bytes]") -> str:
    if meter.full:
        return "updates"
    return "" if process.poll() is None else "failed"


def _check(server: ParameterServer, meter: StepMeter, said: IO[bytes]) -> None:
    if meter.full:
        return
    said.seek(0)
    words = said.read().decode(errors="replace").strip()[-2000:]
    why = server.ended.detail or server.ended.reason if server.ended else ""
    raise HostError(f"cannot calibrate: the worker that was to be measured ended ({why}):\n{words}")
