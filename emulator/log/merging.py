"""Merges the logs of a run's several authors into one log, in the order of time.

Only the time and the place of each line are kept in memory, 16 bytes a line and as many again
while they are sorted, since a log may be larger than memory. Merging the logs as sorted streams
would not do: a score is written when it comes in, long after the time of its record.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from .lines import DAMAGE, line
from .records import StopRecord


class _Stamp(msgspec.Struct):
    """The fields of a line that decide its place; the rest of the line is copied as bytes."""

    at: float
    what: str


_stamp = msgspec.json.Decoder(_Stamp).decode


def merge(logs: Iterable[Path], sink: BinaryIO, last: Mapping[str, Any] | None = None) -> None:
    """Write all lines of `logs` to `sink` in the order of `at`; ties keep their order.

    A log that is missing is empty; a last line that was cut short is left out. The record `stop`
    comes last, whatever its time, as samples may be taken a moment after it. `last` replaces the
    facts of that record. Raises a ValueError for a line that is not a record.
    """
    import numpy as np  # late: the commands that print a log start without NumPy

    with ExitStack() as opened:
        files = [opened.enter_context(log.open("rb")) for log in logs if log.is_file()]
        times, places, stop = _index(files)
        for place in places[np.argsort(times, kind="stable")]:
            offset, number = divmod(int(place), len(files))
            files[number].seek(offset)
            sink.write(files[number].readline())
    if last:
        latest = float(times.max()) if len(times) else 0.0
        sink.write(line(StopRecord(_stamp(stop).at if stop else latest, **last)))
    else:
        sink.write(stop)


def _index(files: Sequence[BinaryIO]) -> tuple[Any, Any, bytes]:
    """Return times f64[R] and places i64[R] of all lines but `stop`, and the last `stop` line.

    A place is offset * len(files) + the file's number. The line is empty if there is none.
    """
    import numpy as np

    times, places = array("d"), array("q")
    stop = b""
    for number, file in enumerate(files):
        offset = 0
        for text in file:
            if not text.endswith(b"\n"):
                break
            try:
                stamp = _stamp(text)
            except DAMAGE as error:
                raise ValueError(f"not a record in JSON: {error}") from error
            if stamp.what == "stop":
                stop = text
            else:
                times.append(stamp.at)
                places.append(offset * len(files) + number)
            offset += len(text)
    return np.frombuffer(times, np.float64), np.frombuffer(places, np.int64), stop
