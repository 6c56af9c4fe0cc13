"""Measure a worker at work: the very one of the containers, on the loopback, by the kernel's books.

Its process is asked for CPU time, not the clock on the wall: that is what a quota limits, and what
else runs here adds little to it. What the worker takes in over a real link costs it more than here,
up to 50 µs for each segment of a slow one; but that is while the link is what it waits for.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime

from .. import models
from ..codecs import AnyCodec
from ..learners.export import exported
from ..units import Seconds
from ..world.laws import Fixed
from .record import Calibration, described, here, rounded
from .step_meter import StepMeter, law, median
from .worker_bench import bench

WORKERS = 3
"""Workers one after the other: much hangs on how a single one starts and where its memory lies."""

SELDOM = 0.2
"""Seconds without work before each step of one that is only to feel how busy the host is."""


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
    with bench(about, batch_size, codec, error_feedback, graph) as worker:
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
        # what comes in between, as a cold page cache, can only add
        boot=Fixed(Seconds(rounded(min(meter.readings[0] for meter in meters)))),
        serve=median([time for meter in meters for time in meter.served]),
    )


@contextmanager
def alongside(
    model: str, batch_size: int, codec: AnyCodec, *, error_feedback: bool = False
) -> Iterator[StepMeter]:
    """Measure while something else goes on here: a step now and then, less than five a second.

    What runs meanwhile costs a step caches and interrupts, and a virtual machine changes its speed.
    The meter is complete when the context ends. A HostError if the worker did not last so long.
    """
    about, meter, graph = models.find(model), StepMeter(SELDOM, endless=True), exported(model)
    with (
        bench(about, batch_size, codec, error_feedback, graph) as worker,
        ThreadPoolExecutor(1) as beside,
    ):
        played = beside.submit(worker.play, meter)
        try:
            yield meter
        finally:
            meter.stop()
        played.result()
