"""Cooked bandwidth files, as of HSDPA and FCC traces: `seconds Mbit/s` in each line.

A rate holds from its time until the next one. Times count from the first line's. The last rate
holds as long as the one before.
"""

from ...errors import shortened
from .base import Lines, Rows, TraceFormat, TraceLineError, Way, decimal, shifted
from .link_trace import LinkTrace, Sample

_EXPECTED = "seconds and Mbit/s, as `12.5 3.2`"
_MEGA = 6


def _read(lines: Lines, way: Way) -> LinkTrace:
    rows = Rows()
    for line, content in lines:
        words = content.split()
        if len(words) != 2:
            raise TraceLineError(line, f"{shortened(content)}: expected {_EXPECTED}")
        seconds, rate = (decimal(line, word, _EXPECTED) for word in words)
        if rate < 0:
            raise TraceLineError(line, f"{words[1]} Mbit/s is negative: expected {_EXPECTED}")
        rows.add(Sample(float(seconds), float(rate.scaleb(_MEGA))), line)
    return rows.trace(None)


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
