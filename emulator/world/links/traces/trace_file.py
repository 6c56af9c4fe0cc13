"""Files of link traces, read with bounds on their size and on the length of their lines."""

import stat
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ....errors import shortened
from . import AUTO, FORMATS, LinkTrace, TraceFormat, TraceLineError, Way

LARGEST_TRACE = 8 << 20
"""Largest trace file in bytes."""
_LONGEST = 4096
"""Largest number of characters in a line."""
_MOST_LINES = 2_000_000
"""Largest number of lines; only a mahimahi file has many, one for each packet."""
_EMPTY = "the trace is empty: expected at least one line of numbers"


def read_trace(file: Path, kind: str, way: Way) -> LinkTrace:
    """Return the trace in `file`, of the format `kind` (or `auto`), for the direction `way`.

    Raises TraceLineError for a mistake in the file, and OSError for a file that cannot be read.
    """
    lines = _lines(_text(file))
    first = next(lines, None)
    if first is None:
        raise TraceLineError(None, _EMPTY)
    chosen = _detected(*first) if kind == AUTO else FORMATS[kind]
    return chosen.read(chain([first], lines), way)


def format_name(file: Path, kind: str) -> str:
    """Return the name of the format of the trace in `file`: `kind`, or for `auto` the one that the
    first line tells.

    Raises TraceLineError for a first line of no known format, and OSError.
    """
    if kind != AUTO:
        return kind
    first = next(_lines(_text(file)), None)
    if first is None:
        raise TraceLineError(None, _EMPTY)
    chosen = _detected(*first)
    return next(name for name, each in FORMATS.items() if each is chosen)


def trace_mistakes(file: Path, kind: str, way: Way) -> list[TraceLineError]:
    """Return the first mistakes of a trace that `read_trace` refuses, each in a line of its own.

    Each later one is that of the trace without the lines before. Raises OSError.
    """
    found: list[TraceLineError] = []
    try:
        lines = list(_lines(_text(file)))
        chosen = _detected(*lines[0]) if kind == AUTO and lines else FORMATS.get(kind)
        while chosen is not None and lines and len(found) < _NAMED:
            try:
                chosen.read(lines, way)
                break
            except TraceLineError as error:
                if any(str(error) == str(other) for other in found):  # as with lines too many
                    break
                found.append(error)
                if error.line in (None, lines[0][0]):  # the whole file, or the header
                    break
                lines = [line for line in lines if line[0] != error.line]
                if len(lines) == 1:
                    break
    except TraceLineError as error:
        found.append(error)
    return found or [TraceLineError(None, _EMPTY)]


_NAMED = 3
"""Largest number of mistakes that are named in a file."""


def _text(file: Path) -> str:
    """Return the text of `file`. Raises TraceLineError if it is too large, or no text."""
    state = file.stat()
    if not stat.S_ISREG(state.st_mode):  # a device or a pipe might never end
        raise TraceLineError(None, "is no regular file")
    if not state.st_size:  # so are the files of /proc, of which some block
        raise TraceLineError(None, _EMPTY)
    if state.st_size > LARGEST_TRACE:
        raise TraceLineError(
            None,
            f"{state.st_size >> 20:,} MiB: expected a trace of up to {LARGEST_TRACE >> 20} MiB",
        )
    with file.open("rb") as source:
        content = source.read(LARGEST_TRACE)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TraceLineError(line, "is no text: expected a trace in lines of numbers") from None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and content of each line of `text` that is neither empty nor a comment."""
    begin, number = 0, 0
    while begin < len(text):
        number += 1
        if number > _MOST_LINES:
            raise TraceLineError(number, f"more than {_MOST_LINES:,} lines: cut the trace in parts")
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        if end - begin > _LONGEST:
            raise TraceLineError(number, f"{end - begin:,} characters: expected up to {_LONGEST:,}")
        content = _uncommented(text[begin:end]).strip()
        if content:
            yield number, content
        begin = end + 1


def _uncommented(line: str) -> str:
    """Return `line` without the comment behind a `#`, unless the `#` stands in double quotes."""
    begin = line.find("#")
    while begin >= 0 and line.count('"', 0, begin) % 2:
        begin = line.find("#", begin + 1)
    return line if begin < 0 else line[:begin]


def _detected(line: int, first: str) -> TraceFormat:
    """Return the format of a file whose first `line` is `first`. Raises TraceLineError."""
    chosen = next((each for each in FORMATS.values() if each.fits(first)), None)
    if chosen is None:
        known = "; ".join(f"{name}: {each.about}" for name, each in FORMATS.items())
        raise TraceLineError(line, f"{shortened(first)} begins no known trace: expected {known}")
    return chosen
