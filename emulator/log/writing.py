"""The writer of a run's log: a line of JSON for each record."""

import math
from collections.abc import Callable
from typing import Any, Protocol

from .lines import line
from .records import Record


class Sink(Protocol):
    """A file of bytes, or what stands in for one."""

    def write(self, line: bytes, /) -> Any: ...

    def flush(self) -> Any: ...


class RunLog:
    """Writes each record to the sink at once, as a whole line.

    `listener` is called with each record, too: before JSON makes null of a number that is not
    finite.
    """

    def __init__(self, sink: Sink, listener: Callable[[Record], None] | None = None) -> None:
        self._sink, self._listener = sink, listener
        self._latest = -math.inf
        self.late = False
        """Whether a record stands behind one of a later time, as a score that came in late."""

    def write(self, record: Record) -> None:
        """Round `record.at` to the microsecond, in place, and write the record."""
        record.at = microseconds(record.at)
        if record.at < self._latest:
            self.late = True
        else:
            self._latest = record.at
        self._sink.write(line(record))
        if self._listener is not None:
            self._listener(record)

    def flush(self) -> None:
        self._sink.flush()


def microseconds(at: float) -> float:
    """Round a time in seconds as the log does."""
    # not round(at, 6): that goes by way of decimal digits, which takes four times as long
    return round(at * 1e6) / 1e6
