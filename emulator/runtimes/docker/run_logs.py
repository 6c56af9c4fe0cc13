"""Logs of a run: the nodes', written to disk, and the server's, read while the server writes."""

import errno
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ...log.lines import Tail, line
from ...log.records import Record, RecoveredRecord, StartRecord, StopRecord
from ...machine.host import Load
from ...node.config import ENDINGS
from ...runs.folder import RunFolder
from ...world.emulated_clock import UNDILATED, EmulatedClock

LAST = 5
"""Lines of each log that are also kept in memory."""


class NodeLogs:
    """Writes `devices/NAME.log` for each of `nodes`, and `reports.jsonl`."""

    def __init__(self, folder: RunFolder, nodes: Iterable[str]) -> None:
        self._folder = folder
        self._reports = folder.reports.open("ab", buffering=0)
        self._logs = {node: self._path(node).open("ab", buffering=0) for node in nodes}
        self._last = {node: deque[str](maxlen=LAST) for node in self._logs}

    def _path(self, node: str) -> Path:
        return self._folder.devices / f"{node}.log"

    def write(self, node: str, text: str) -> None:
        """Append the line `text` to the log of `node`."""
        self._last[node].append(text)
        self._logs[node].write(f"{text}\n".encode())

    def report(self, record: Record) -> None:
        """Append `record` to the reports, which are merged into the run's log at the end.

        Raises OSError if the disk takes no more: a record that was cut short may be followed by
        none.
        """
        text = line(record)
        if self._reports.write(text) != len(text):  # a disk that has just become full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._folder.reports)

    def ending(self, node: str) -> str:
        """Return the path of the log of `node`, and its last lines, for an error text."""
        lines = "\n".join(f"    {text}" for text in self._last[node] if text.strip())
        return f"{self._path(node)} ends with:\n{lines or '    (it said nothing)'}"

    def close(self) -> None:
        for file in (self._reports, *self._logs.values()):
            with suppress(OSError):
                file.close()


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
        """The reason for which this process ended the run without devices; else empty."""

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
        """The reason for which the server gave up before the run began; empty if it did not."""
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
