"""Reading of JSON lines into frames, a block at a time: a log may have millions of records."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from ..errors import RunError
from .shapes import COLUMNS, NUMBER, OF_KIND, Kind, require

Record = dict[str, Any]

_BLOCK = 1 << 24
_REQUIRED = ("at", "begins")
"""Keys that are never null. All records have `at`; where a record of a kind has `begins`, all do:
whether a fault began or ended must not be guessed."""
_decode_lines = msgspec.json.Decoder(Record).decode_lines


def by_kind(
    path: Path, known: Mapping[str, Sequence[str]], notes: list[str]
) -> dict[str, pd.DataFrame]:
    """Return a frame for every kind of record in the log at `path`.

    A frame has the `known` columns of its kind, and any others in the log. A truncated last line is
    left out with a note in `notes`. Raises RunError if another line is damaged.
    """
    parts: dict[str, list[pd.DataFrame]] = defaultdict(list)
    for records in _blocks(path, notes):
        kinds: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            kinds[str(record.get("what"))].append(record)
        for what, rows in kinds.items():
            parts[what].append(_frame(rows, known.get(what, ("at",)), path, what))
    return {what: pd.concat(frames, ignore_index=True) for what, frames in parts.items()}


def frame(path: Path, known: Sequence[str], notes: list[str]) -> pd.DataFrame:
    """Return all lines of the file at `path` as a frame; errors and notes are as in `by_kind`."""
    parts = [_frame(records, known, path) for records in _blocks(path, notes)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(known))


def _frame(
    rows: Sequence[Record], known: Sequence[str], path: Path, what: str = ""
) -> pd.DataFrame:
    extra = dict.fromkeys(key for row in rows for key in row if key != "what")
    keys = {**dict.fromkeys(known), **extra}
    frame = pd.DataFrame({key: _column(rows, key) for key in keys})
    for key, usual in COLUMNS.items():
        kind = OF_KIND.get((what, key), usual)
        lacks = key in _REQUIRED and (key == "at" or key in extra) and frame[key].isna().any()
        if key in frame and (lacks or not _sound(frame[key], kind)):
            raise _misplaced(path, key, kind)
    return frame


def _sound(column: "pd.Series[Any]", kind: Kind) -> bool:
    """Return whether every value of `column` is of `kind` or missing; `at` must not be missing."""
    if column.name == "at" and column.isna().any():
        return False
    if kind is NUMBER and column.dtype.kind in "iuf":
        return not np.isinf(column).any()
    return all(kind.holds(value) for value in column.dropna())


def _misplaced(path: Path, key: str, kind: Kind) -> RunError:
    """Return the error for the first line with a value under `key` that is not of `kind`."""
    with path.open("rb") as log:
        for number, line in enumerate(log, start=1):
            if not line.strip():
                continue
            record = _line(line, path, number)
            if OF_KIND.get((str(record.get("what")), key), kind) is not kind:
                continue
            value = record.get(key)
            required = key == "at" or (key in _REQUIRED and key in record)
            try:
                if required or value is not None:
                    require(f"{path}:{number}: {key}", value, kind)
            except RunError as error:
                return error
    return RunError(f"{path}: {key}: not {kind.name} everywhere")


def _column(rows: Sequence[Record], key: str) -> "pd.Series[Any]":
    values = [row.get(key) for row in rows]
    try:
        column = pd.Series(values)
    except OverflowError:  # pandas 2.2 tries to make a float of any integer
        column = pd.Series(values, dtype=object)
    # an empty column of objects would turn the numbers of other blocks into objects
    return column.astype(float) if column.dtype == object and column.isna().all() else column


def _blocks(path: Path, notes: list[str]) -> Iterator[list[Record]]:
    number, rest = 1, b""
    with path.open("rb") as log:
        while block := log.read(_BLOCK):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield _lines(whole, path, number)
                number += whole.count(b"\n") + 1
    # a record is written with its newline, so only the last line can be truncated
    if rest.strip():
        try:
            yield [_line(rest, path, number)]
        except _Damaged:
            notes.append(f"{path.name} breaks off in its last line, which is left out")


def _lines(whole: bytes, path: Path, number: int) -> list[Record]:
    """Return the records of the lines in `whole`; `number` is the number of the first line."""
    try:
        return _decode_lines(whole)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # line by line is slower, but accepts NaN and knows the line of a mistake
        lines = enumerate(whole.split(b"\n"), start=number)
        return [_line(line, path, place) for place, line in lines if line.strip()]


class _Damaged(RunError):
    pass


def _line(line: bytes, path: Path, number: int) -> Record:
    try:
        record = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise _Damaged(f"{path}:{number}: not a line of JSON: {error}") from error
    if b"\\u" in line:
        _require_whole_letters(record, f"{path}:{number}")
    return mapping(f"{path}:{number}", record)


def _require_whole_letters(record: object, place: str) -> None:
    """Raise RunError if a text in `record` cannot be drawn: JSON may escape a half of a pair."""
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise RunError(f"{place}: holds half of a letter, an unpaired surrogate") from error


def mapping(place: Path | str, content: object) -> Record:
    """Return `content`, which must be a mapping; else raise RunError with the `place`."""
    if not isinstance(content, dict):
        raise RunError(f"{place}: a {type(content).__name__} where a mapping was expected")
    return content
