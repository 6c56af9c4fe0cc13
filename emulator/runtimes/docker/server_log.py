"""Reads the server's log while the server writes: the run's zero, its clock and its end."""

from collections.abc import Iterator
from pathlib import Path

from ...log.lines import Tail
from ...log.records import Record, RecoveredRecord, StartRecord, StopRecord
from ...machine.host import Load
from ...node.config import ENDINGS
from ...world.emulated_clock import UNDILATED, EmulatedClock


class ServerLog:
    """The records of the server, with the run's beginning and end taken from them."""

    def __init__(self, path: Path, load: Load, clock: EmulatedClock = UNDILATED) -> None:
        """`load` samples the host from the record `start` to the record `stop`; `clock` is the
        server's.

        Lines that are in the file already are of the time before the run was resumed.
        """
        self._tail, self._load, self._clock = Tail(path, from_end=True), load, clock
        self.zero: float | None = None
        """Reading of the clock at the run's zero; None before every node has said hello."""
        self.stop: StopRecord | None = None
        """The last record, once the server has written it."""
        self.given_up = ""
        """Why this process ended the run, if no device was left; else empty."""

    @property
    def now(self) -> float:
        """Emulated seconds since the run's zero; 0 before."""
        return self._clock.now() - self.zero if self.zero is not None else 0.0

    @property
    def over(self) -> bool:
        """Whether the server has ended the run without an order of a person.

        The run ended by itself, too, if this process gave it up as no device was left.
        """
        return self.stop is not None and self.stop.reason not in ENDINGS

    @property
    def stopped_early(self) -> str:
        """Why the server gave up before the run began; empty if it did not."""
        early = self.stop is not None and self.zero is None
        return self.stop.detail or "no reason" if early and self.stop else ""

    def read(self) -> Iterator[Record]:
        """Yield the records that the server has written since the last call."""
        for record in self._tail.read():
            if isinstance(record, StartRecord):
                self.zero = record.zero
                self._load.begin()
            elif isinstance(record, RecoveredRecord):
                if self.zero is None:  # the run was resumed
                    self._load.begin()
                self.zero = record.zero
            elif isinstance(record, StopRecord):
                record = self.stop = self._explained(record)
                self._load.end()
            yield record

    def _explained(self, stop: StopRecord) -> StopRecord:
        """Return the record `stop` with the reason why this process ended the run."""
        if self.given_up and stop.reason == "canceled":
            return StopRecord(stop.at, "failed", self.given_up)
        # the server's own stop condition held before it was told to stop
        self.given_up = ""
        return stop
