"""The log of a workload's run, which the conductor writes itself: no server of ours takes part."""

from collections.abc import Iterator
from pathlib import Path

from ....log.lines import line
from ....log.records import Record, StartRecord, StopRecord
from ....machine.host import Load
from ....node.config import ENDINGS
from ....world.emulated_clock import UNDILATED


class WorkloadLog:
    """Begins and ends a run; it has the properties of a `ServerLog`."""

    def __init__(self, path: Path, load: Load) -> None:
        """`load` samples the host from the run's begin to its end."""
        self._path, self._load, self._news = path, load, list[Record]()
        self.zero: float | None = None
        """Reading of the clock at the run's zero; None before the programs run."""
        self.stop: StopRecord | None = None
        """The last record, once the run is over."""
        self.given_up = ""
        """The reason for which the run ended without devices; else empty."""

    @property
    def now(self) -> float:
        """Seconds since the run's zero; 0 before."""
        return 0.0 if self.zero is None else UNDILATED.now() - self.zero

    @property
    def over(self) -> bool:
        """Whether the run has ended without an order of a person."""
        return self.stop is not None and self.stop.reason not in ENDINGS

    @property
    def stopped_early(self) -> str:
        """Empty: nobody ends a run before its begin but by an error."""
        return ""

    def begin(self, devices: int) -> None:
        """Let the run begin now, with the number of its `devices`."""
        self.zero = UNDILATED.now()
        self._load.begin()
        self.write(StartRecord(0.0, devices, self.zero))

    def end(self, reason: str, detail: str = "", at: float | None = None) -> None:
        """End the run, unless it is over; `reason` as of a StopRecord, `at` None for now."""
        if self.stop is not None:
            return
        if self.given_up and reason == "canceled":
            reason, detail = "failed", self.given_up
        at = round(self.now if at is None else at, 6)
        self.stop = StopRecord(at, reason, detail)
        self._load.end()
        self.write(self.stop)

    def read(self) -> Iterator[Record]:
        """Yield the records since the last call."""
        news, self._news = self._news, []
        yield from news

    def write(self, record: Record) -> None:
        """Append `record` to the log at once, as `emulate logs` reads it meanwhile."""
        with self._path.open("ab") as file:
            file.write(line(record))
        self._news.append(record)
