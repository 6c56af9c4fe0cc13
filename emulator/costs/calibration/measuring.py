"""Measures the CPU time of a worker: the containers' own worker, over the loopback interface.

CPU time is the quantity that a container's quota limits, and other processes on the host change it
little. Receiving over a real link costs more than over the loopback, up to 50 µs for each segment
of a slow link, but the worker would wait for the link during that time anyway.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ...codecs import AnyCodec
from ...errors import HostError
from ...learning import models
from ...learning.datasets import shard
from ...learning.learners.export import ready
from ...units import Seconds
from ...world.laws import Fixed
from .record import Calibration, LayerSeconds, described, here, rounded
from .step_meter import StepMeter, law, median
from .worker_bench import ENVIRONMENT, bench, noise

WORKERS = 3
"""Workers measured one after the other: a worker's speed depends on its start and its memory's
place."""

TIMEOUT = 300.0
"""Seconds after which the process that measures layers counts as stuck; it takes a few."""

_SEED = 0
"""Seed of the initial weights of a measured worker."""

SELDOM = 0.2
"""Least seconds without work before each step of a worker that samples the host's speed during a
run."""

SHARE = 0.05
"""Largest share of a core that such a worker takes: on few cores, more would slow the run down."""


def measure(
    model: str,
    batch_size: int,
    codec: AnyCodec,
    tell: Callable[[str], None],
    *,
    error_feedback: bool = False,
) -> Calibration:
    """Measure a worker on a core of this host, which takes seconds; store nothing.

    `tell` is called with the name of each step that takes a while. Raises a ValueError if `model`
    does not exist, and a HostError if the host lacks something that the measurement needs.
    """
    description = models.find(model)
    tell("graphs")
    graph = ready(description, _SEED)
    tell(f"calibrating {model}, batch {batch_size}: a few seconds")
    with bench(description, batch_size, codec, error_feedback, graph) as worker:
        meters = [worker.play(StepMeter()) for _ in range(WORKERS)]
    host, processor = here()
    return Calibration(
        host=host,
        processor=processor,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        model=model,
        batch_size=batch_size,
        codec=described(codec, error_feedback),
        step=law([step for meter in meters for step in meter.steps]),
        # the minimum: disturbances such as a cold page cache only add time
        boot=Fixed(Seconds(rounded(min(meter.readings[0] for meter in meters)))),
        serve=median([time for meter in meters for time in meter.served]),
    )


def measure_layers(model: str, batch_size: int, tell: Callable[[str], None]) -> LayerSeconds:
    """Measure the passes of each layer on a core of this host, which takes seconds; store nothing.

    Arguments and errors as of `measure`.
    """
    description = models.find(model)
    tell("graphs")
    graph = ready(description, _SEED)
    tell(f"measuring the layers of {model}, batch {batch_size}: a few seconds")
    forward, backward = layer_times(description, batch_size, graph)
    return LayerSeconds(*here(), model, batch_size, forward, backward)


def layer_times(
    model: models.Model, batch_size: int, graph: Path
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the median CPU seconds of each layer's forward and backward pass, layer 1 first.

    `graph` is the folder of the exported model. Raises a HostError with the last words of a process
    that failed.
    """
    with tempfile.TemporaryDirectory(prefix="emulate-") as folder:
        shard.write(Path(folder), noise(model.task, batch_size))
        arguments = [model.name, str(graph), folder, str(batch_size)]
        try:
            process = subprocess.run(
                [sys.executable, "-m", "emulator.costs.calibration.layer_meter", *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env={**os.environ, **ENVIRONMENT},
                timeout=TIMEOUT,
                encoding="utf-8",
            )
        except subprocess.TimeoutExpired as error:
            raise HostError(f"measuring the layers took more than {TIMEOUT:.0f} s") from error
    if process.returncode:
        raise HostError(f"cannot measure the layers of {model.name}:\n{process.stderr[-2000:]}")
    measured = json.loads(process.stdout)
    return tuple(measured["forward"]), tuple(measured["backward"])


@contextmanager
def alongside(
    model: str, batch_size: int, codec: AnyCodec, step: float, *, error_feedback: bool = False
) -> Iterator[StepMeter]:
    """Measure fewer than five steps a second while the context is open; one took `step` seconds.

    Other work on the host slows a step through caches and interrupts, and a virtual machine changes
    its speed. The meter is complete once the context has ended. Raises a HostError if the worker
    ended before the context.
    """
    description = models.find(model)
    meter = StepMeter(max(SELDOM, step * (1 / SHARE - 1)), endless=True)
    graph = ready(description, _SEED)
    with (
        bench(description, batch_size, codec, error_feedback, graph) as worker,
        ThreadPoolExecutor(1) as threads,
    ):
        played = threads.submit(worker.play, meter)
        try:
            yield meter
        finally:
            meter.stop()
        played.result()
