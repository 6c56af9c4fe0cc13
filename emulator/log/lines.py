"""A run's log, a line of JSON for each record: writing it, reading it whole, and following it."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from ..plugins.plain_files import open_plain, read_plain
from .records import KINDS, Record
from .records.fault_records import TimelineRecord

_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(reduce(or_, KINDS.values()))
_decode, _decode_lines = _decoder.decode, _decoder.decode_lines
_decode_timeline = msgspec.json.Decoder(TimelineRecord).decode_lines

DAMAGE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors that the decoder raises for bytes that are not lines of records."""

_BLOCK = 1 << 18
"""Bytes that are read at once: a log may be larger than memory."""


class _Kind(msgspec.Struct):
    what: str


_decode_kind = msgspec.json.Decoder(_Kind).decode


def line(record: Record) -> bytes:
    """Return the line of `record`, with its newline. NaN and infinity become null."""
    # msgspec writes the tag first; a line begins with `at`, so that people see the time first.
    # Neither the tag nor a number holds a comma.
    what, at, rest = _encode(record).split(b",", 2)
    return b"{%b,%b,%b\n" % (at, what[1:], rest)


def parse(text: bytes) -> Record | None:
    """Decode a line; return None for an unknown kind, as a later version may add kinds.

    Raises a ValueError if the line is not a record, or lacks a field of its kind.
    """
    try:
        return _decode(text)
    except DAMAGE as error:
        if _is_unknown(text):
            return None
        older = " (an older version wrote other fields)" if "missing required" in str(error) else ""
        raise ValueError(f"not a record in JSON: {error}{older}") from error


def read(path: Path) -> Iterator[Record]:
    """Yield the records of a log in the order written, except those of unknown kinds.

    A last line that was cut short is left out. Raises a ValueError that names the first line that
    is not a record.
    """
    with open_plain(path) as log:
        rest, number = b"", 1
        while block := log.read(_BLOCK):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            yield from _records(whole + newline, path, number)
            number += whole.count(b"\n") + len(newline)


def read_timeline(path: Path) -> list[TimelineRecord]:
    """Return the records of `timeline.jsonl`. Raises a ValueError if it is damaged."""
    try:
        return _decode_timeline(read_plain(path))
    except DAMAGE as error:
        raise ValueError(f"{path}: {error}") from error


def _records(lines: bytes, path: Path, number: int) -> list[Record]:
    """Decode whole lines of `path`, the first of which has the number `number`."""
    try:
        return _decode_lines(lines)
    except DAMAGE:  # one by one, to skip unknown kinds and to name the line that is damaged
        records = []
        for place, text in enumerate(lines.splitlines(), start=number):
            try:
                record = parse(text)
            except ValueError as error:
                raise ValueError(f"{path}:{place}: {error}") from error
            if record is not None:
                records.append(record)
        return records


def _is_unknown(text: bytes) -> bool:
    """Return whether a line holds a JSON object of a kind that has no Struct."""
    try:
        return _decode_kind(text).what not in KINDS
    except DAMAGE:
        return False


T = TypeVar("T")


class LineTail(Generic[T]):
    """The lines that a growing file has gained since the last look, parsed."""

    def __init__(self, path: Path, parse_line: Callable[[bytes], T | None]) -> None:
        """`parse_line` returns None for a line to skip. The file need not exist yet."""
        self._path, self._parse = path, parse_line
        self._offset, self._rest = 0, b""

    def skip(self) -> None:
        """Leave out the whole lines that the file has now."""
        with suppress(FileNotFoundError):
            self._offset = self._path.read_bytes().rfind(b"\n") + 1

    def read(self) -> Iterator[T]:
        """Yield each whole line written since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        self._offset += len(data)
        # the last piece is a line that is still being written, or empty
        *lines, self._rest = (self._rest + data).split(b"\n")
        for text in lines:
            parsed = self._parse(text)
            if parsed is not None:
                yield parsed


class Tail(LineTail[Record]):
    """The records that a growing log has gained since the last look."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        """With `from_end` the records that the log has now are left out."""
        super().__init__(path, parse)
        if from_end:
            self.skip()


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
