"""5G drive logs (Raca et al., 2020): a row a second, with bitrates of both directions and a ping.

`DL_bitrate` and `UL_bitrate` are in kbit/s; the direction of the link chooses one. `PINGAVG` is a
round trip in milliseconds, of which each direction has half as its delay. Rows without a ping (`-`)
keep the ping before; rows before the first ping have the first. Other columns are not read.
"""

from dataclasses import replace

from ...errors import shortened
from .base import Lines, Rows, TraceFormat, TraceLineError, Way, decimal, shifted
from .link_trace import LinkTrace, Sample

COLUMNS: dict[Way, str] = {"down": "DL_bitrate", "up": "UL_bitrate"}
PING = "PINGAVG"
_NONE = ("", "-", "nan", "NaN")
_KILO = 3
_HEADER = f"expected a header with {COLUMNS['down']} and {COLUMNS['up']}, and {PING} if known"


def _read(lines: Lines, way: Way) -> LinkTrace:
    content = iter(lines)
    line, header = next(content, (None, ""))
    names = _names(line, header, way)
    rate_at, ping_at = names.index(COLUMNS[way]), names.index(PING) if PING in names else None
    rows, delay = Rows(), None
    for second, (line, text) in enumerate(content):
        cells = [cell.strip() for cell in text.split(",")]
        if len(cells) != len(names):
            raise TraceLineError(line, f"{len(cells)} columns: expected the header's {len(names)}")
        rate = _rate(line, cells[rate_at], COLUMNS[way])
        found = None if ping_at is None else _delay(line, cells[ping_at])
        delay = delay if found is None else found
        rows.add(Sample(float(second), rate, delay), line)
    trace = rows.trace(None)
    first = next((sample.delay for sample in trace.samples if sample.delay is not None), None)
    samples = (
        sample._replace(delay=first) if sample.delay is None else sample for sample in trace.samples
    )
    return replace(trace, samples=tuple(samples))


def _names(line: int | None, header: str, way: Way) -> list[str]:
    """Return the names of the columns. Raises TraceLineError for a column missing or twice."""
    names = [name.strip() for name in header.split(",")]
    if COLUMNS[way] not in names:
        raise TraceLineError(line, f"{shortened(header)} has no {COLUMNS[way]}: {_HEADER}")
    twice = next((name for name in (*COLUMNS.values(), PING) if names.count(name) > 1), None)
    if twice is not None:
        raise TraceLineError(line, f"{shortened(header)} has {twice} twice: {_HEADER}")
    return names


def _rate(line: int, cell: str, column: str) -> float:
    kbit = decimal(line, cell, f"{column} in kbit/s")
    if kbit < 0:
        raise TraceLineError(line, f"{column} {cell} is negative: expected kbit/s")
    return float(kbit.scaleb(_KILO))


def _delay(line: int, cell: str) -> float | None:
    """Return half of the round trip of `cell`, in seconds; None for an empty cell."""
    if cell in _NONE:
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
    names = [name.strip() for name in line.split(",")]
    return any(name in names for name in COLUMNS.values())


DRIVE_LOG = TraceFormat(
    about=f"rows a second of {COLUMNS['down']} and {COLUMNS['up']} in kbit/s, {PING} in ms",
    fits=_fits,
    read=_read,
    write=_write,
    both_ways=True,
)
