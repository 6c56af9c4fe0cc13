"""5G drive logs (Raca et al., 2020): rows with a time, bitrates of both directions and a ping.

`Timestamp` is a time of day as `2020.02.27_18.39.57`, or a number of seconds or of milliseconds
since 1970; without this column there is a row a second. `DL_bitrate` and `UL_bitrate` are in
kbit/s; the direction of the link chooses one. `PINGAVG` is a round trip in milliseconds, of which
each direction has half as its delay.

The loggers write some seconds more than once and leave out others: rows of the same time are
averaged, and values hold until the next row. Rows without a bitrate or without a ping (`-`) keep
the one before; rows before the first one have the first. Other columns are not read.
"""

import re
from calendar import monthrange, timegm

from ....errors import shortened
from .base import (
    MISSING,
    Lines,
    Rows,
    TraceFormat,
    TraceLineError,
    Way,
    cells,
    decimal,
    held,
    shifted,
)
from .link_trace import LinkTrace, Sample

COLUMNS: dict[Way, str] = {"down": "DL_bitrate", "up": "UL_bitrate"}
TIME, PING = "Timestamp", "PINGAVG"
_KILO = 3
_HEADER = (
    f"expected a header with {COLUMNS['down']} and {COLUMNS['up']}, and {TIME} and {PING} if known"
)
_DATE = re.compile(
    r"([0-9]{4})[^0-9]([0-9]{1,2})[^0-9]([0-9]{1,2})[^0-9]+"
    r"([0-9]{1,2})[^0-9]([0-9]{2})[^0-9]([0-9]{2})([.,][0-9]{1,9})?(?: ?Z)?"
)
_EXPECTED = f"{TIME} as 2020.02.27_18.39.57, or a number of seconds"
_MILLISECONDS = 1e11
"""Least number that is taken for milliseconds since 1970; as seconds it is the year 5138."""


def _read(lines: Lines, way: Way) -> LinkTrace:
    content = iter(lines)
    line, header = next(content, (None, ""))
    names = _names(line, header, way)
    rate_at, time_at, ping_at = (
        names.index(name) if name in names else None for name in (COLUMNS[way], TIME, PING)
    )
    assert rate_at is not None
    rows, first, before, known = Rows(), 0.0, (0.0, ""), False
    for number, (line, text) in enumerate(content):
        row = cells(text, len(names))
        if len(row) != len(names):
            raise TraceLineError(line, f"{len(row)} columns: expected the header's {len(names)}")
        rate = _rate(line, row[rate_at], COLUMNS[way])
        known = known or rate is not None
        now = float(number)
        if time_at is not None:
            now = _seconds(line, row[time_at])
            if number and now < before[0]:
                raise TraceLineError(
                    line,
                    f"{TIME} {row[time_at]} lies before {before[1]}: expected times that do not "
                    "decrease",
                )
            before = now, row[time_at]
        first = now if number == 0 else first
        delay = None if ping_at is None else _delay(line, row[ping_at])
        rows.add(Sample(round(now - first, 6), rate, delay), line)
    trace = rows.trace(None)
    if not known:
        raise TraceLineError(line, f"no row has a {COLUMNS[way]}: expected kbit/s")
    return held(trace)


def _names(line: int | None, header: str, way: Way) -> list[str]:
    """Return the names of the columns. Raises TraceLineError for a column missing or twice."""
    names = cells(header)
    if COLUMNS[way] not in names:
        raise TraceLineError(line, f"{shortened(header)} has no {COLUMNS[way]}: {_HEADER}")
    twice = next((name for name in (*COLUMNS.values(), TIME, PING) if names.count(name) > 1), None)
    if twice is not None:
        raise TraceLineError(line, f"{shortened(header)} has {twice} twice: {_HEADER}")
    return names


def _seconds(line: int, cell: str) -> float:
    """Return the time of `cell` in seconds since a fixed day. Raises TraceLineError."""
    if date := _DATE.fullmatch(cell):
        *parts, fraction = date.groups()
        year, month, day, hour, minute, second = map(int, parts)
        days = monthrange(year, month)[1] if year and 1 <= month <= 12 else 0
        if not (1 <= day <= days and hour < 24 and minute < 60 and second <= 60):
            raise TraceLineError(line, f"{shortened(cell)} is no date: expected {_EXPECTED}")
        whole = timegm((year, month, day, hour, minute, second))
        return whole + float((fraction or "0").replace(",", "."))
    number = float(decimal(line, cell, _EXPECTED))
    return number / 1000 if number >= _MILLISECONDS else number


def _rate(line: int, cell: str, column: str) -> float | None:
    """Return the rate of `cell` in bits per second; None for an empty cell."""
    if cell in MISSING:
        return None
    kbit = decimal(line, cell, f"{column} in kbit/s")
    if kbit < 0:
        raise TraceLineError(line, f"{column} {cell} is negative: expected kbit/s")
    return float(kbit.scaleb(_KILO))


def _delay(line: int, cell: str) -> float | None:
    """Return half of the round trip of `cell`, in seconds; None for an empty cell."""
    if cell in MISSING:
        return None
    ping = decimal(line, cell, f"{PING} in milliseconds")
    if ping < 0:
        raise TraceLineError(line, f"{PING} {cell} is negative: expected milliseconds")
    return float(ping.scaleb(-_KILO) / 2)


def _write(trace: LinkTrace, way: Way) -> str:
    """Return a log with the rates in both directions. Raises ValueError for other steps than 1 s,
    and for samples without a rate or with a loss."""
    pings = any(sample.delay is not None for sample in trace.samples)
    header = [COLUMNS["down"], COLUMNS["up"], *([PING] if pings else [])]
    lines = [",".join(header)]
    for second, (sample, lasts) in enumerate(trace.spans()):
        if sample.rate is None or sample.loss is not None or (sample.at, lasts) != (second, 1.0):
            raise ValueError("a 5g log has a rate and a ping a second, no losses and other steps")
        ping = [] if sample.delay is None else [shifted(sample.delay * 2, _KILO)]
        rate = shifted(sample.rate, -_KILO)
        lines.append(",".join([rate, rate, *(ping or ["-"] * pings)]))
    return "\n".join([*lines, ""])


def _fits(line: str) -> bool:
    return any(name in cells(line) for name in COLUMNS.values())


DRIVE_LOG = TraceFormat(
    about=f"rows of {COLUMNS['down']} and {COLUMNS['up']} in kbit/s, {PING} in ms, with a {TIME}",
    fits=_fits,
    read=_read,
    write=_write,
    both_ways=True,
)
