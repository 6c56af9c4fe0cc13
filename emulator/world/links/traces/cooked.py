"""Cooked bandwidth files, as of HSDPA and FCC traces: `seconds Mbit/s` in each line.

A rate holds from its time until the next one. Times count from the first line's. Rates of the same
time are averaged, and `-` holds the rate before. The last rate holds as long as the one before.
"""

from ....errors import shortened
from .base import MISSING, Lines, Rows, TraceFormat, TraceLineError, Way, decimal, held, shifted
from .link_trace import LinkTrace, Sample

_EXPECTED = "seconds and Mbit/s, as `12.5 3.2`"
_MEGA = 6


def _read(lines: Lines, way: Way) -> LinkTrace:
    rows = Rows()
    for line, content in lines:
        words = content.split()
        if len(words) != 2:
            raise TraceLineError(line, f"{shortened(content)}: expected {_EXPECTED}")
        seconds = decimal(line, words[0], _EXPECTED)
        rate = None if words[1] == MISSING[1] else decimal(line, words[1], _EXPECTED)
        if rate is not None and rate < 0:
            raise TraceLineError(line, f"{words[1]} Mbit/s is negative: expected {_EXPECTED}")
        rows.add(Sample(float(seconds), None if rate is None else float(rate.scaleb(_MEGA))), line)
    return held(rows.trace(None))


def _write(trace: LinkTrace, way: Way) -> str:
    lines = []
    for at, rate, delay, loss in trace.samples:
        if rate is None or delay is not None or loss is not None:
            raise ValueError("a cooked file has rates only, no delays and no losses")
        lines.append(f"{shifted(at, 0)}\t{shifted(rate, -_MEGA)}\n")
    return "".join(lines)


def _fits(line: str) -> bool:
    words = line.split()
    try:
        return len(words) == 2 and all(map(float, words)) is not None
    except ValueError:
        return False


COOKED = TraceFormat(about="seconds and Mbit/s", fits=_fits, read=_read, write=_write)
