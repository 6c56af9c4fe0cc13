"""Mahimahi's packet-delivery files (Netravali et al., 2015).

Each line is a millisecond at which the link can deliver a packet of 1,500 bytes; a line that is
repeated is a further packet. The file begins anew after its last line, so a file of the single line
`1` is 12 Mbit/s. A trace has the mean rate of each second: the kernel's queues are changed once a
second, not once a packet.

Times count from zero, not from the first line. Mahimahi begins a round when the last millisecond of
the round before has passed (`link_queue.cc`), so a line `0` is the very moment of that last
millisecond, and counts in the last second. In the first round nothing waits for the line `0`.
"""

from math import ceil

from ....errors import shortened
from .base import Lines, Rows, TraceFormat, TraceLineError, Way
from .link_trace import MOST_SAMPLES, LinkTrace, Sample

PACKET = 1500 * 8
"""Bits of an opportunity."""
BIN = 1000
"""Milliseconds over which opportunities are counted."""
_EXPECTED = "expected whole milliseconds, as `17`"


def _read(lines: Lines, way: Way) -> LinkTrace:
    counts: dict[int, int] = {}
    last, line = -1, 1
    for line, content in lines:
        # int() takes underscores, signs and other scripts' digits, too
        if not (content.isascii() and content.isdigit() and len(content) <= _MOST_DIGITS):
            raise TraceLineError(line, f"{shortened(content)}: {_EXPECTED}")
        stamp = int(content)
        if stamp < last:
            raise TraceLineError(
                line, f"{stamp} ms does not follow {last} ms: expected times that do not decrease"
            )
        last = stamp
        # an opportunity at a bin's end belongs to the bin, as the last one ends the file; 0 gives
        # -1, the bin before the first
        number = -(-stamp // BIN) - 1
        counts[number] = counts.get(number, 0) + 1
        if number >= MOST_SAMPLES:
            raise TraceLineError(line, f"{stamp:,} ms is too late: expected up to 10 h")
    if last < 1:
        what = "the trace is empty" if last < 0 else "the last time is 0 ms"
        raise TraceLineError(line if last == 0 else None, f"{what}: {_EXPECTED}, from 1 up")
    if begun := counts.pop(-1, 0):
        counts[ceil(last / BIN) - 1] += begun
    rows = Rows()
    for sample in _bins(counts, last):
        rows.add(sample, line)
    return rows.trace(last / 1000)


_MOST_DIGITS = 12


def _bins(counts: dict[int, int], last: int) -> list[Sample]:
    """Return the mean rate of each second up to the millisecond `last`."""
    bins = ceil(last / BIN)
    widths = [min(BIN, last - number * BIN) for number in range(bins)]
    return [
        Sample(number * BIN / 1000, counts.get(number, 0) * PACKET * 1000 / width)
        for number, width in enumerate(widths)
    ]


def _write(trace: LinkTrace, way: Way) -> str:
    """Return a line for each opportunity; raise ValueError for a trace with delay or loss."""
    lines = []
    for sample, lasts in trace.spans():
        if sample.rate is None or sample.delay is not None or sample.loss is not None:
            raise ValueError("a mahimahi file has rates only, no delays and no losses")
        begin, width = sample.at * 1000, lasts * 1000
        packets = round(sample.rate * lasts / PACKET)
        # spread evenly, the last one at the end of the sample
        lines += [
            f"{max(1, ceil(begin + width * (number + 1) / packets - 1e-6))}\n"
            for number in range(packets)
        ]
    return "".join(lines)


MAHIMAHI = TraceFormat(
    about="a millisecond for each 1,500-byte packet that the link can deliver",
    fits=lambda line: line.isascii() and line.isdigit(),
    read=_read,
    write=_write,
)
