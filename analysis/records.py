"""Lines of JSON as frames, a block at a time: a log may hold millions of records."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from .errors import RunError
from .shapes import COLUMNS, NUMBER, Kind, require

Record = dict[str, Any]

_BLOCK = 1 << 24
_decode_lines = msgspec.json.Decoder(Record).decode_lines


def by_kind(
    path: Path, known: Mapping[str, Sequence[str]], notes: list[str]
) -> dict[str, pd.DataFrame]:
    """A frame for each `what` of a log, with the columns that are known of it at least.

    A last line that broke off is left out, and noted. A RunError if another is damaged.
    """
    parts: dict[str, list[pd.DataFrame]] = defaultdict(list)
    for records in _blocks(path, notes):
        kinds: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            kinds[str(record.get("what"))].append(record)
        for what, rows in kinds.items():
            parts[what].append(_frame(rows, known.get(what, ("at",)), path))
    return {what: pd.concat(frames, ignore_index=True) for what, frames in parts.items()}


def frame(path: Path, known: Sequence[str], notes: list[str]) -> pd.DataFrame:
    """All lines of one kind as a frame; the rest as `by_kind`."""
    parts = [_frame(records, known, path) for records in _blocks(path, notes)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(known))


def _frame(rows: Sequence[Record], known: Sequence[str], path: Path) -> pd.DataFrame:
    extra = dict.fromkeys(key for row in rows for key in row if key != "what")
    frame = pd.DataFrame({key: _column(rows, key) for key in {**dict.fromkeys(known), **extra}})
    for key, kind in COLUMNS.items():
        if key in frame and not _sound(frame[key], kind):
            raise _misplaced(path, key, kind)
    return frame


def _sound(column: "pd.Series[Any]", kind: Kind) -> bool:
    """Whether each value of a column is of this kind or missing; `at` must not be missing."""
    if column.name == "at" and column.isna().any():
        return False
    if kind is NUMBER and column.dtype.kind in "iuf":
        return not np.isinf(column).any()
    return all(kind.holds(value) for value in column.dropna())


def _misplaced(path: Path, key: str, kind: Kind) -> RunError:
    """The error for the first line that holds something else under `key`."""
    with path.open("rb") as log:
        for number, line in enumerate(log, start=1):
            if not line.strip():
                continue
            value = _line(line, path, number).get(key)
            try:
                if value is not None or key == "at":
                    require(f"{path}:{number}: {key}", value, kind)
            except RunError as error:
                return error
    return RunError(f"{path}: {key}: not {kind.name} everywhere")


def _column(rows: Sequence[Record], key: str) -> "pd.Series[Any]":
    column = pd.Series([row.get(key) for row in rows])
    # with nothing in it, it must not make objects of the numbers in other blocks
    return column.astype(float) if column.dtype == object and column.isna().all() else column


def _blocks(path: Path, notes: list[str]) -> Iterator[list[Record]]:
    number, rest = 1, b""
    with path.open("rb") as log:
        while block := log.read(_BLOCK):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield _lines(whole, path, number)
                number += whole.count(b"\n") + 1
    if rest.strip():  # the newline comes last, so only this one can be half
        try:
            yield [_line(rest, path, number)]
        except _Damaged:
            notes.append(f"{path.name} breaks off in its last line, which is left out")


def _lines(whole: bytes, path: Path, number: int) -> list[Record]:
    """The records of whole lines, of which the first has this number."""
    try:
        return _decode_lines(whole)
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
    ):  # slower, but knows where, and takes NaN
        lines = enumerate(whole.split(b"\n"), start=number)
        return [_line(line, path, place) for place, line in lines if line.strip()]


class _Damaged(RunError):
    pass


def _line(line: bytes, path: Path, number: int) -> Record:
    try:
        record = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise _Damaged(f"{path}:{number}: not a line of JSON: {error}") from error
    return mapping(f"{path}:{number}", record)


def mapping(place: Path | str, content: object) -> Record:
    """`content` if it is one; a RunError that names the place if not."""
    if not isinstance(content, dict):
        raise RunError(f"{place}: a {type(content).__name__} where a mapping was expected")
    return content
