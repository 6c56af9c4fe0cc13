"""Measures the CPU time of a worker: the containers' own worker, over the loopback interface.

CPU time is the quantity that a container's quota limits, and other processes on the host change it
little. Receiving over a real link costs more than over the loopback, up to 50 µs for each segment
of a slow link, but the worker would wait for the link during that time anyway.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime

from ...codecs import AnyCodec
from ...learning import models
from ...learning.learners.own_export import ready
from ...units import Seconds
from ...world.laws import Fixed
from .layer_bench import layer_times
from .layer_record import LayerSeconds
from .record import Calibration, described, here, rounded
from .step_meter import StepMeter, law, median
from .worker_bench import bench

WORKERS = 3
"""Workers measured one after the other: a worker's speed depends on its start and its memory's
place."""

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
