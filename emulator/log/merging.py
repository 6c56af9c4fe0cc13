"""Merges the logs that several authors wrote of one run into one log, in the order of time.

Only the time and the place of each record are kept in memory, 16 bytes a record and as many again
while they are sorted, since a log may be larger than memory. No merge of sorted streams would do:
a score is written when it comes in, long after the time that it is of.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .writing import Record, line, parse


def merge(logs: Iterable[Path], sink: BinaryIO, last: Mapping[str, Any] | None = None) -> None:
    """Write all records of `logs` to `sink` in the order of `at`; ties keep their order.

    A log that is missing is empty; a last line that was cut short is left out. The record `stop`
    comes last, whatever its time, as samples may be taken a moment after it. `last` replaces the
    facts of that record.
    """
    with ExitStack() as opened:
        files = [opened.enter_context(log.open("rb")) for log in logs if log.is_file()]
        times, places, stop = _index(files)
        for place in places[np.argsort(times, kind="stable")]:
            offset, number = divmod(int(place), len(files))
            files[number].seek(offset)
            sink.write(files[number].readline())
    if last:
        latest = float(times.max()) if len(times) else 0.0
        stop = {"at": stop["at"] if stop else latest, "what": "stop", **last}
    if stop:
        sink.write(line(stop))


def _index(files: Sequence[BinaryIO]) -> tuple[Any, Any, Record | None]:
    """Return times f64[R] and places i64[R] of all records but `stop`, and the last `stop`.

    A place is offset * len(files) + the file's number.
    """
    times, places = array("d"), array("q")
    stop: Record | None = None
    for number, file in enumerate(files):
        offset = 0
        for text in file:
            if not text.endswith(b"\n"):
                break
            record = parse(text)
            if record["what"] == "stop":
                stop = record
            else:
                times.append(record["at"])
                places.append(offset * len(files) + number)
            offset += len(text)
    return np.frombuffer(times, np.float64), np.frombuffer(places, np.int64), stop
