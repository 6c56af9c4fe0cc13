"""Runs a server in this process and a worker in a child process, to measure them."""

import io
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ... import chance, codecs
from ...codecs import AnyCodec
from ...core.plan import Plan, WorkerPlan
from ...core.server.parameter_server import ParameterServer
from ...core.zmtp import Heartbeat
from ...errors import HostError
from ...learning import models
from ...learning.datasets import shard
from ...learning.datasets.examples import Examples
from ...learning.models.task import Task
from ...log.lines import RunLog
from ...node import config
from ...node.part import server_role
from ...transport import server_driver
from ...transport.router import Router
from ...transport.secrets import issue
from .step_meter import StepMeter

CHILD = """
import os, struct, threading, time
channel = os.dup(1)
os.dup2(2, 1)
def answer():
    while os.read(0, 1):
        os.write(channel, struct.pack("d", time.process_time()))
    os._exit(0)
threading.Thread(target=answer, daemon=True).start()
"""
"""First lines of the child's code. For each byte on standard input the child writes its CPU time to
standard output. The child ends at the end of standard input: the parent has ended."""

LEARNING_RATE = 1e-3
"""Small, so that training on random examples does not diverge."""

ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "67108864",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}
"""The variables of a container's environment that change a worker's speed."""

_NODE, _FILE = "worker", "node.json"

_WORKER = f"""{CHILD}
import sys
from pathlib import Path
from emulator.node import config
from emulator.node.part import role
data, config.GRAPH = map(Path, sys.argv[1:])
config.SHARD, node = data, config.read(data / {_FILE!r})
role.work(node, node.part, 0, goes_on=False)
"""
"""The child's code: `emulator.node.part.role`, with folders of this host in place of a container's.
The child ends at the end of standard input, as in a container."""


@contextmanager
def bench(
    model: models.Model, batch_size: int, codec: AnyCodec, error_feedback: bool, graph: Path
) -> Iterator["WorkerBench"]:
    """Make a bench for `model` in a temporary folder; `graph` is the folder of its export."""
    with tempfile.TemporaryDirectory(prefix="emulate-") as folder:
        shard.write(Path(folder), noise(model.task, batch_size))
        yield WorkerBench(model, batch_size, codec, error_feedback, graph, Path(folder))


def noise(task: Task, batch_size: int) -> Examples:
    """Draw random examples of `task`, at least `batch_size`."""
    rng, count = chance.stream(chance.CALIBRATION), max(2000, batch_size)
    inputs, scale = _inputs(task, (count, *task.shape), rng)
    answers = (count, *task.answers)
    if task.regression:
        return Examples(inputs, rng.normal(size=answers).astype(np.float32), scale)
    return Examples(inputs, rng.integers(0, task.classes, answers, _narrowest(task.classes)), scale)


def _inputs(
    task: Task, shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[NDArray[Any], int]:
    """Draw inputs of `task`, and return them with their scale."""
    if task.inputs == "vectors":
        return rng.normal(size=shape).astype(np.float32), 1
    if task.inputs == "images":
        return rng.integers(0, 256, shape, np.uint8), 255
    # a model that does not say its vocabulary has at least the ids 0 and 1
    levels = task.classes if task.inputs == "texts" else task.vocabulary or 2
    return rng.integers(0, levels, shape, _narrowest(levels)), 1


def _narrowest(levels: int) -> type[np.uint8] | type[np.int32]:
    """Return the narrowest type in use of the numbers below `levels`."""
    return np.uint8 if levels <= 256 else np.int32


@dataclass(frozen=True)
class WorkerBench:
    """Runs a server in this process and a worker in a child process, once for each `play`."""

    model: models.Model
    batch_size: int
    codec: AnyCodec
    error_feedback: bool
    graph: Path
    folder: Path
    """Holds the worker's shard and configuration."""

    def play(self, meter: StepMeter) -> StepMeter:
        """Train until `meter` is full; return it. Raises a HostError if the worker ends before."""
        guests, secrets = issue([_NODE], encrypt=False)
        heartbeat, size = Heartbeat(), self.model.layout.size
        plan = self._plan
        part = config.ServerRole(guests, heartbeat, plan)
        with Router("tcp://127.0.0.1:*", guests, heartbeat, 4 * size + server_role.SLACK) as router:
            address = config.ServerAddress(router.address, secrets[_NODE], heartbeat, timeout=60.0)
            worker = config.WorkerRole(address, plan.worker)
            config.write(config.NodeConfig(_NODE, os.getuid(), worker), self.folder / _FILE)
            with self._worker() as (process, errors):
                meter.clock, meter.pid = clock(process), process.pid
                log = RunLog(io.BytesIO(), meter.note)
                server = server_role.build(part, log)
                if not isinstance(server, ParameterServer):
                    raise TypeError("a plan without shards has no leader")
                server_driver.serve(server, router, canceled=lambda: _ending(meter, process))
                _check(server, meter, errors)
        return meter

    @property
    def _plan(self) -> Plan:
        """Return the plan of an asynchronous run of a single worker, without a stop condition."""
        codec = codecs.plain(self.codec)
        noisy = self.model.noisy
        worker = WorkerPlan(0, self.batch_size, codec, self.error_feedback, noisy=noisy)
        return Plan(worker, self.model.name, LEARNING_RATE, workers=(_NODE,))

    @contextmanager
    def _worker(self) -> Iterator[tuple["subprocess.Popen[bytes]", IO[bytes]]]:
        """Start the child; yield the process and the file of its standard error."""
        command = [sys.executable, "-c", _WORKER, str(self.folder), str(self.graph)]
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **ENVIRONMENT},
            ) as process,
        ):
            try:
                yield process, errors
            finally:
                process.kill()


def _ending(meter: StepMeter, process: "subprocess.Popen[bytes]") -> str:
    """Return the reason to end the run: the meter is full, or the child has ended; else empty."""
    if meter.full:
        return "updates"
    return "" if process.poll() is None else "failed"


def _check(server: ParameterServer, meter: StepMeter, errors: IO[bytes]) -> None:
    """Raise a HostError with the child's last words if the run ended before `meter` was full."""
    if meter.full:
        return
    errors.seek(0)
    words = errors.read().decode(errors="replace").strip()[-2000:]
    why = server.ended.detail or server.ended.reason if server.ended else ""
    raise HostError(f"cannot calibrate: the worker that was to be measured ended ({why}):\n{words}")


# -- the CPU time of a child: from the kernel's clock, or else from the child ----------------------


def cpu_time(process: int) -> float:
    """Return the CPU seconds of all threads of `process`, to the nanosecond.

    Raises an OSError on systems other than Linux, which have no clock for each process.
    """
    return time.clock_gettime((~process << 3) | 2)  # the clock's number: clock_getcpuclockid(3)


def clock(child: "subprocess.Popen[bytes]") -> Callable[[], float]:
    """Return a function that reads the CPU time of `child`.

    Without a kernel clock the function asks the child. Each answer costs the child CPU time.
    """
    try:
        cpu_time(child.pid)
    except OSError:
        return partial(asked, child)
    return partial(cpu_time, child.pid)


def asked(child: "subprocess.Popen[bytes]") -> float:
    """Ask `child` for its CPU seconds. Raises a HostError if the child has ended."""
    assert child.stdin and child.stdout  # opened as pipes
    try:
        os.write(child.stdin.fileno(), b"?")
        (seconds,) = struct.unpack("d", os.read(child.stdout.fileno(), 8))
    except (OSError, struct.error) as error:
        raise HostError("cannot calibrate: the worker that was to be measured ended") from error
    return float(seconds)
