"""The memory of a device with an own model, measured at two sizes of mini-batches.

The memory is private: no page of a file counts, as containers share TensorFlow's libraries and the
data in the page cache.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..codecs import Dense
from ..learners.own_export import ready
from ..log.records import Record
from ..models import OwnModel
from ..models.own_model import WorkerMemory
from .step_meter import StepMeter
from .worker_bench import bench


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
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    pages = {name: value for name, _, value in (line.partition(":") for line in lines)}
    known = (int(pages[name].split()[0]) for name in ("VmHWM", "RssFile", "RssShmem"))
    peak, files, shared = (1024 * kibibytes for kibibytes in known)
    return peak - files - shared


def measure_memory(
    model: OwnModel, batch_size: int, tell: Callable[[str], None]
) -> WorkerMemory | None:
    """Measure the memory of a worker, with mini-batches of `batch_size` and of twice as many.

    The result is kept beside the model's graphs. `tell` is called with the name of a step that
    takes seconds. Return None where the kernel tells no memory. Raises a HostError if the worker
    ends early.
    """
    graph, peaks = ready(model, 0), []
    for size in (batch_size, 2 * batch_size):
        tell(f"measuring the memory with a batch of {size}: a few seconds")
        with bench(model, size, Dense(), False, graph) as worker:
            meter = MemoryMeter()
            worker.play(meter)
        peaks.append(meter.peak)
    if not all(peaks):
        return None
    example = max(0, peaks[1] - peaks[0]) // batch_size
    memory = WorkerMemory(peaks[0] - example * batch_size, example, batch_size)
    model.keep_memory(memory)
    return memory
