"""The memory of a device with an own model, measured with two sizes of mini-batches and two codecs.

The memory is private: no page of a file counts, as containers share TensorFlow's libraries and the
data in the page cache. The worker is measured; the supervisor beside it takes `SUPERVISOR` bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...codecs import AnyCodec, Dense, TopK
from ...learning.learners.export import ready
from ...learning.models import OwnModel
from ...learning.models.own_model import MeasuredMemory
from ...log.records import Record
from ...scenario.cores_and_memory import SUPERVISOR
from ...units import Fraction
from .step_meter import StepMeter
from .worker_bench import bench

LARGER = 4
"""The larger mini-batch over the smaller one. Memory does not grow evenly: `cnn` of
scenarios/own/models.py took 0.18 MB an example between 10 and 20, and 0.30 MB between 20 and 64."""

_TOP = TopK(keep=Fraction(0.01))


@dataclass
class MemoryMeter(StepMeter):
    """Reads the memory of a worker, too, at the start and each update."""

    peak: int = 0
    """Most bytes of private memory that the worker has held."""

    def note(self, record: Record) -> None:
        super().note(record)
        self.peak = max(self.peak, private_peak(self.pid)) if self.pid else 0


def private_peak(pid: int) -> int:
    """Return the most bytes of private memory that the process `pid` has held; 0 without /proc.

    The kernel keeps the peak of all pages. Pages of files are not given back, so the peak without
    the present pages of files is that of private memory.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    pages = {name: value for name, _, value in (line.partition(":") for line in lines)}
    known = (int(pages[name].split()[0]) for name in ("VmHWM", "RssFile", "RssShmem"))
    peak, files, shared = (1024 * kibibytes for kibibytes in known)
    return peak - files - shared


def measure_memory(
    model: OwnModel, batch_size: int, tell: Callable[[str], None]
) -> MeasuredMemory | None:
    """Measure the memory of a device, with mini-batches of `batch_size` and of `LARGER` times as
    many; with the smaller one also for a codec, and for error feedback.

    The result is kept beside the model's graphs. `tell` is called with the name of a step that
    takes seconds. Return None where the kernel tells no memory. Raises a HostError if the worker
    ends early.
    """
    graph = ready(model, 0)

    def peak(size: int, codec: AnyCodec, feedback: bool = False) -> int:
        with bench(model, size, codec, feedback, graph) as worker:
            meter = MemoryMeter()
            worker.play(meter)
        return meter.peak

    tell(f"measuring the memory with batches of {batch_size} and {LARGER * batch_size}")
    small, large = (peak(size, Dense()) for size in (batch_size, LARGER * batch_size))
    tell("measuring the memory with a codec and with error feedback")
    coded, fed_back = peak(batch_size, _TOP), peak(batch_size, _TOP, True)
    if not all((small, large, coded, fed_back)):
        return None
    example = max(0, large - small) // ((LARGER - 1) * batch_size)
    memory = MeasuredMemory(
        fixed=small - example * batch_size + SUPERVISOR,
        example=example,
        batch_size=batch_size,
        codec=max(0, coded - small),
        feedback=max(0, fed_back - coded),
    )
    model.keep_memory(memory)
    return memory
