"""A run's log: one line of JSON for each thing that happened."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec

Record: TypeAlias = dict[str, Any]

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(dict[str, Any])
_decode, _decode_lines = _decoder.decode, _decoder.decode_lines

_DAMAGE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What the decoder raises for bytes that are no lines of JSON objects."""

_BLOCK = 1 << 18
"""Bytes that are read at once: a log may be larger than memory."""


class RunLog:
    """Writes records as they come; each line reaches the sink at once, whole.

    `listener` is shown each record too, as it was before JSON made null of what is not finite.
    """

    def __init__(self, sink: BinaryIO, listener: Callable[[Record], None] | None = None) -> None:
        self._sink, self._listener = sink, listener

    def write(self, at: float, what: str, **facts: Any) -> None:
        """Note that `what` happened `at` emulated seconds into the run, to the microsecond."""
        record = {"at": microseconds(at), "what": what, **facts}
        self._sink.write(line(record))
        if self._listener is not None:
            self._listener(record)

    def flush(self) -> None:
        self._sink.flush()


def microseconds(at: float) -> float:
    """Round a time in seconds as the log does."""
    # not round(at, 6): that goes by way of decimal digits, which takes four times as long
    return round(at * 1e6) / 1e6


def line(record: Record) -> bytes:
    """One line of the log. JSON has no NaN and no infinity: msgspec makes them null."""
    return _encode(record) + b"\n"


def parse(line: bytes) -> Record:
    """Decode one line of a log. Raises a ValueError if it is no JSON object."""
    try:
        return _decode(line)
    except _DAMAGE as error:
        raise ValueError(f"not a record in JSON: {error}") from error


def read(path: Path) -> Iterator[Record]:
    """The records of a log in the order written; a last line that was cut short is left out.

    Raises a ValueError that names the first line that is no JSON object.
    """
    with path.open("rb") as log:
        rest, number = b"", 1
        while block := log.read(_BLOCK):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            try:
                yield from _decode_lines(whole + newline)
            except _DAMAGE as error:
                raise ValueError(f"{path}:{_damaged(whole, number)}: {error}") from error
            number += whole.count(b"\n") + len(newline)


def _damaged(lines: bytes, number: int) -> int:
    """Return the number of the first damaged one of `lines`, of which the first has `number`."""
    for place, text in enumerate(lines.split(b"\n"), start=number):
        try:
            parse(text)
        except ValueError:
            return place
    return number
