"""A run's log: one line of JSON for each thing that happened."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec

Record: TypeAlias = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class RunLog:
    """Writes records as they come; each line reaches the file at once, whole."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink

    def write(self, at: float, what: str, **facts: Any) -> None:
        """Note that `what` happened `at` emulated seconds into the run."""
        self._sink.write(line({"at": round(at, 6), "what": what, **facts}))

    def flush(self) -> None:
        self._sink.flush()


def line(record: Record) -> bytes:
    """One line of the log. JSON has no NaN and no infinity: they become null."""
    return _encode({key: _finite(value) for key, value in record.items()}) + b"\n"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parse(line: bytes) -> Record:
    return _decode(line)


def read(path: Path) -> Iterator[Record]:
    """The records of a log in the order written; a last line that was cut short is left out."""
    with path.open("rb") as lines:
        for raw in lines:
            if raw.endswith(b"\n"):
                yield parse(raw)


def merge(logs: list[list[Record]]) -> list[Record]:
    """Several authors' records as one log, by the time they happened; ties keep their order."""
    return sorted((record for log in logs for record in log), key=lambda record: record["at"])
