"""The formats of link traces: read, written back and compared; malformed files name their lines."""

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.world.links.traces import AUTO, FORMATS, LinkTrace, Sample, TraceLineError, Way
from emulator.world.links.traces.link_trace import LEAST_STEP, MOST_ROWS, MOST_SAMPLES
from emulator.world.links.traces.trace_file import LARGEST_TRACE, read_trace
from emulator.world.links.traces.trace_statistics import statistics
from tests.layers import ROOT
from tests.world.shipped_traces import TRACES

SHIPPED = ROOT / "scenarios" / "profiles" / "traces"

RATES = st.floats(0, 9e10, allow_subnormal=False)
DELAYS = st.none() | st.integers(0, 60_000_000).map(lambda us: us / 1e6)
LOSSES = st.none() | st.floats(0, 1, allow_subnormal=False)
STEPS = st.integers(100_001, 10**9).map(lambda us: us / 1e6)


@st.composite
def traces(draw: st.DrawFn) -> LinkTrace:
    """A trace as CSV can hold it, with times of whole microseconds."""
    samples, at = [], 0.0
    for step in draw(st.lists(STEPS, min_size=1, max_size=20)):
        samples.append(Sample(at, draw(st.none() | RATES), draw(DELAYS), draw(LOSSES)))
        at = round(at + step, 6)
    return LinkTrace.of(samples, at)


def read(tmp_path: Path, text: str | bytes, kind: str = AUTO, way: Way = "down") -> LinkTrace:
    file = tmp_path / "trace"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_trace(file, kind, way)


def again(trace: LinkTrace, kind: str, way: Way = "down") -> LinkTrace:
    text = FORMATS[kind].write(trace, way)
    lines = list(enumerate(text.splitlines(), 1))
    assert next(name for name, each in FORMATS.items() if each.fits(lines[0][1])) == kind
    return FORMATS[kind].read(lines, way)


# -- read and written back -------------------------------------------------------------------------


@pytest.mark.slow
@given(traces())
def test_a_trace_is_equal_to_its_text(trace: LinkTrace) -> None:
    assert LinkTrace.parse(trace.text) == trace


@pytest.mark.slow
@given(traces())
def test_csv_is_read_as_it_was_written(trace: LinkTrace) -> None:
    if all(sample.rate is None for sample in trace.samples):
        trace = trace.__class__(
            (trace.samples[0]._replace(rate=0.0), *trace.samples[1:]), trace.end
        )
    assert again(trace, "csv") == trace


@pytest.mark.slow
@given(st.lists(RATES, min_size=2, max_size=30), STEPS)
def test_cooked_is_read_as_it_was_written(rates: list[float], step: float) -> None:
    samples = [Sample(round(step * number, 6), rate) for number, rate in enumerate(rates)]
    last = samples[-1].at
    trace = LinkTrace.of(samples, last + (last - samples[-2].at))
    assert again(trace, "cooked") == trace


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 10**7), min_size=1, max_size=30),
    st.none() | st.lists(st.integers(0, 4000), min_size=30, max_size=30),
    st.sampled_from(["up", "down"]),
)
def test_a_drive_log_is_read_as_it_was_written(
    rates: list[int], pings: list[int] | None, way: Way
) -> None:
    samples = [
        Sample(float(second), rate * 1000.0, pings[second] / 2000 if pings else None)
        for second, rate in enumerate(rates)
    ]
    trace = LinkTrace.of(samples, float(len(samples)))
    assert again(trace, "5g", way) == trace


@pytest.mark.slow
@given(st.lists(st.integers(0, 300), max_size=20), st.integers(1, 300))
def test_mahimahi_is_read_as_it_was_written(counts: list[int], last: int) -> None:
    """A file ends with an opportunity, so its last second has one."""
    samples = [
        Sample(float(second), count * 12_000.0) for second, count in enumerate([*counts, last])
    ]
    trace = LinkTrace.of(samples, len(samples) * 1.0)
    assert again(trace, "mahimahi") == trace


def test_a_mahimahi_file_of_one_line(tmp_path: Path) -> None:
    assert read(tmp_path, "1\n") == LinkTrace((Sample(0.0, 12e6),), 0.001)


def test_a_mahimahi_file_has_the_rate_of_each_second(tmp_path: Path) -> None:
    """Two packets in the first second, none in the second, one in the half second at the end."""
    trace = read(tmp_path, "1000\n1000\n2500\n")
    assert trace == LinkTrace((Sample(0, 24e3), Sample(1, 0.0), Sample(2, 24e3)), 2.5)


def test_a_drive_log_without_times_has_a_row_a_second(tmp_path: Path) -> None:
    log = "Operator,DL_bitrate,UL_bitrate,PINGAVG\na,100,7,-\na,0,8,30\na,300,9,-\n"
    down = [(0.0, 1e5, 0.015, None), (1.0, 0.0, 0.015, None), (2.0, 3e5, 0.015, None)]
    assert [tuple(sample) for sample in read(tmp_path, log).samples] == down
    assert [sample.rate for sample in read(tmp_path, log, way="up").samples] == [7e3, 8e3, 9e3]


def test_csv_with_units_in_the_header_or_in_the_cells(tmp_path: Path) -> None:
    one = read(tmp_path, "seconds,rate_mbit,delay_ms,loss_percent\n0,8,40,1\n2,0,,\n3,end\n")
    two = read(tmp_path, "# mine\nseconds, rate, delay, loss\n0, 8mbit, 40ms, 1%\n2,0bit,,\n3,end")
    assert one == two == LinkTrace((Sample(0, 8e6, 0.04, 0.01), Sample(2, 0.0)), 3.0)


def test_times_count_from_the_first(tmp_path: Path) -> None:
    trace = read(tmp_path, "100.5 2\n101.5 1e-1\n104 0\n")
    assert trace == LinkTrace((Sample(0, 2e6), Sample(1, 1e5), Sample(3.5, 0.0)), 6.0)


def test_close_samples_are_averaged(tmp_path: Path) -> None:
    """0 to 50 ms at 4 Mbit/s and 50 to 150 ms at 2 Mbit/s: 3 Mbit/s in the first 100 ms."""
    trace = read(tmp_path, "seconds,rate_mbit\n0,4\n0.05,2\n0.15,0\n0.2,end\n")
    assert [sample.at for sample in trace.samples] == [0.0, 0.1]
    assert [sample.rate for sample in trace.samples] == pytest.approx([3e6, 1e6])
    assert trace.end == 0.2


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 400), RATES), min_size=1, max_size=60))
def test_an_average_keeps_the_bits(rows: list[tuple[int, float]]) -> None:
    at, samples = 0, []
    for milliseconds, rate in rows:
        samples.append(Sample(at / 1000, rate))
        at += milliseconds
    trace = LinkTrace.of(samples, at / 1000)
    bits = sum(lasts * rate / 1000 for lasts, rate in rows)
    carried = sum((sample.rate or 0) * lasts for sample, lasts in trace.spans())
    assert carried == pytest.approx(bits, rel=1e-6, abs=1e-3)
    steps = [after.at - before.at for before, after in pairwise(trace.samples)]
    assert all(step >= LEAST_STEP * 0.999 for step in steps)


# -- times that repeat, leave gaps, go back; cells that are quoted or missing ----------------------


def _cooked(rows: list[tuple[int, str]]) -> str:
    return "".join(f"{at} {mega}\n" for at, mega in rows)


def _csv(rows: list[tuple[int, str]]) -> str:
    return "seconds,rate_mbit\n" + "".join(f"{at},{mega}\n" for at, mega in rows)


def _log(rows: list[tuple[int, str]], time: str) -> str:
    kbit = {at: str(float(at) * 1000) if at != "-" else at for _, at in rows}
    header = "Timestamp,Operatorname,DL_bitrate,UL_bitrate\n"
    return header + "".join(
        f'{time.format(minute=at // 60, second=at % 60, at=at)},"X, Ireland",{kbit[mega]},0\n'
        for at, mega in rows
    )


TIMED: dict[str, Callable[[list[tuple[int, str]]], str]] = {
    "csv": _csv,
    "cooked": _cooked,
    "5g dates": lambda rows: _log(rows, "2020.02.27_18.{minute:02}.{second:02}"),
    "5g dates as of ISO": lambda rows: _log(rows, "2020-02-27T18:{minute:02}:{second:02}.000Z"),
    "5g seconds": lambda rows: _log(rows, "{at}"),
    "5g milliseconds": lambda rows: _log(rows, "158282750{at:04}000"),
}
"""Writers of files with the rows `(second, Mbit/s)`, for each format that has times."""


@pytest.mark.parametrize("kind", TIMED)
@pytest.mark.parametrize(
    ("rows", "found", "end"),
    [
        ([(0, "9"), (0, "5"), (0, "1"), (1, "1")], [(0, 5), (1, 1)], 2),  # repeated: their mean
        ([(3, "9"), (3, "9"), (4, "1"), (8, "2"), (9, "3")], [(0, 9), (1, 1), (5, 2), (6, 3)], 7),
        ([(0, "4"), (1, "-"), (2, "6")], [(0, 4), (1, 4), (2, 6)], 3),  # missing: held
        ([(0, "4"), (1, "8"), (1, "-"), (2, "6")], [(0, 4), (1, 8), (2, 6)], 3),
        ([(0, "-"), (1, "-"), (2, "6"), (3, "4")], [(0, 6), (1, 6), (2, 6), (3, 4)], 4),
        ([(58, "1"), (59, "2"), (60, "3")], [(0, 1), (1, 2), (2, 3)], 3),  # the next minute
    ],
)
def test_every_format_with_times_plays_them(
    tmp_path: Path, kind: str, rows: list[tuple[int, str]], found: list[tuple[int, int]], end: int
) -> None:
    trace = read(tmp_path, TIMED[kind](rows))
    assert [(sample.at, sample.rate) for sample in trace.samples] == [
        (at, mega * 1e6) for at, mega in found
    ]
    assert trace.end == end


@pytest.mark.parametrize("kind", [*TIMED, "mahimahi"])
def test_every_format_with_times_refuses_times_that_go_back(tmp_path: Path, kind: str) -> None:
    rows = [(1, "1"), (9, "1"), (2, "1"), (3, "1")]
    text = "1\n9\n2\n3\n" if kind == "mahimahi" else TIMED[kind](rows)
    line = 3 if kind in ("mahimahi", "cooked") else 4
    with pytest.raises(TraceLineError, match=r"does not follow|lies before") as refused:
        read(tmp_path, text)
    assert refused.value.line == line


def test_a_csv_column_begins_with_its_first_known_value(tmp_path: Path) -> None:
    """An empty cell is none, nor is a column of `-` alone; a mistake is told in its line."""
    rows = "seconds,rate_mbit,delay_ms,loss\n0,-,-,-\n1,,-,-\n2,8,,-\n3,-,30,-\n4,end\n"
    samples = read(tmp_path, rows).samples
    assert [sample.rate for sample in samples] == [8e6, None, 8e6, 8e6]
    assert [sample.delay for sample in samples] == [0.03, 0.03, None, 0.03]
    assert [sample.loss for sample in samples] == [None] * 4
    assert read(tmp_path, "seconds,rate\n0,-\n4,end\n").samples == (Sample(0.0),)
    with pytest.raises(TraceLineError, match="4 Mbit") as refused:
        read(tmp_path, "seconds,rate,delay\n0,-,-\n1,-,-\n2,4 Mbit/s,x\n")
    assert refused.value.line == 4


def test_a_drive_log_begins_with_the_first_value_known(tmp_path: Path) -> None:
    log = "Timestamp,DL_bitrate,PINGAVG\n1,-,-\n2,100,-\n3,,40\n4,nan,-\n"
    samples = read(tmp_path, log).samples
    assert [(sample.rate, sample.delay) for sample in samples] == [(1e5, 0.02)] * 4


def test_cells_may_be_quoted_and_rows_padded(tmp_path: Path) -> None:
    log = '"Timestamp","Operator","DL_bitrate",,\n"1","X, #1","8000",,\n2,Y,9000,,\n'
    assert [sample.rate for sample in read(tmp_path, log).samples] == [8e6, 9e6]
    padded = '"seconds","rate_mbit",delay,\n0,"8",,\n600,end,,\n'
    assert read(tmp_path, padded) == LinkTrace((Sample(0, 8e6),), 600.0)
    assert read(tmp_path, "seconds,rate\n0,8mbit\n600,END,\n").end == 600


def test_a_mahimahi_line_of_zero_is_the_end_of_the_round_before(tmp_path: Path) -> None:
    """A round of 2 s has three opportunities, and the one at 0 comes when 2 s have passed."""
    trace = read(tmp_path, "0\n1000\n2000\n")
    assert trace == LinkTrace((Sample(0, 12e3), Sample(1, 24e3)), 2.0)
    assert read(tmp_path, "1500\n2000\n").samples[0] == Sample(0, 0.0)  # times count from zero


# -- malformed -------------------------------------------------------------------------------------

MALFORMED = [
    ("", None, "empty"),
    ("# nothing\n\n", None, "empty"),
    ("5\n3\n", 2, "3 ms does not follow 5 ms"),
    ("5\n-7\n", 2, "'-7': expected whole milliseconds"),
    ("5\n1_0\n", 2, "'1_0': expected whole milliseconds"),
    ("0\n0\n", 2, "the last time is 0 ms"),
    ("0 1\n1 -2\n", 2, "-2 Mbit/s is negative: expected seconds and Mbit/s"),
    ("0 1\n1 nan\n", 2, "'nan' is no finite number: expected seconds and Mbit/s"),
    ("0 1\n1 inf\n", 2, "'inf' is no finite number"),
    ("0 1\n1 1e400\n", 2, "'1e400' is no finite number"),
    ("0 1\n2 1\n1 1\n", 3, "1 s does not follow 2 s: times increase"),
    ("0 1\n0 x\n", 2, "'x' is no number: expected seconds and Mbit/s"),
    ("0 1\n0 200000\n", 2, "no rate from zero to under 100 gbit/s"),
    ("-1 1\n0 1\n", 1, "-1 is no time"),
    ("0 1\n1 2 3\n", 2, "'1 2 3': expected seconds and Mbit/s"),
    ("0 1\n1 200000\n", 2, "no rate from zero to under 100 gbit/s"),
    ("seconds\n0\n", 1, "expected a header as"),
    ("seconds,rate,rate\n0,1mbit,1mbit\n", 1, "expected a header as"),
    ("seconds,speed\n0,1\n", 1, "'seconds,speed': expected a header as"),
    ("seconds,rate_mb\n0,1\n", 1, "its unit is not bit or kbit or mbit or gbit"),
    ("seconds,rate\n0,8\n", 2, "rate: '8' is not in bit or kbit or mbit or gbit"),
    ("seconds,rate\n0,-8mbit\n", 2, "rate: '-8mbit' is negative"),
    ("seconds,rate_mbit\n0,x\n", 2, "'x' is no number: expected rate in mbit"),
    ("seconds,rate,loss\n0,8mbit,101%\n", 2, "more than 100%"),
    ("seconds,rate,delay\n0,8mbit,70s\n", 2, "70 s is no delay"),
    ("seconds,rate\n0,8mbit,1%\n", 2, "3 columns: expected the header's 2"),
    ("seconds,rate\n0,8mbit\n9,end\n10,1mbit\n", 4, "follows the end"),
    ("seconds,rate\n5,8mbit\n5,end\n", 3, "not after 5 s"),
    ("seconds,rate\n", None, "empty"),
    ("a,DL_bitrate\n1,-5\n", 2, "DL_bitrate -5 is negative: expected kbit/s"),
    ("a,DL_bitrate\n1,none\n", 2, "'none' is no number: expected DL_bitrate in kbit/s"),
    ("DL_bitrate,PINGAVG\n1,-3\n", 2, "PINGAVG -3 is negative"),
    ("DL_bitrate,PINGAVG\n1\n", 2, "1 columns: expected the header's 2"),
    ("what is this\n", 1, "'what is this' begins no known trace: expected mahimahi:"),
    (b"0 1\n\xff\xfe\x00", 2, "is no text"),
    ("0 1\n" + "7" * 5000, 2, "5,000 characters: expected up to 4,096"),
    ("0 1\n1e-3 1\n1e12 1\n", 3, "more than 36,000 samples"),
    ("5\n99999999999\n7", 2, "99,999,999,999 ms is too late: expected up to 10 h"),
    ("0 1\n1_0 1\n", 2, "'1_0' is no number"),
    ("0 1\n１ 1\n", 2, "'１' is no number"),
    ("seconds,rate_mbit\n0,1_0\n", 2, "'1_0' is no number"),
    ("seconds,rate\n0,1_0mbit\n", 2, "rate: '1_0mbit' is not a number"),
    ("DL_bitrate,UL_bitrate,DL_bitrate\n1,2,3\n", 1, "has DL_bitrate twice"),
    ("PINGAVG,DL_bitrate,PINGAVG\n1,2,3\n", 1, "has PINGAVG twice"),
    ("seconds,rate\n0,8mbit\n0,9mbit\nx\n", 4, "'x' is no number: expected seconds"),
    (
        "Timestamp,DL_bitrate\nx,1\n",
        2,
        "'x' is no number: expected Timestamp as 2020.02.27_18.39.57",
    ),
    ("Timestamp,DL_bitrate\n-,1\n", 2, "'-' is no number: expected Timestamp as"),
    ("Timestamp,DL_bitrate\n2020.02.31_18.39.57,1\n", 2, "is no date: expected Timestamp"),
    ("Timestamp,DL_bitrate\n1,-\n2,-\n", 3, "no row has a DL_bitrate: expected kbit/s"),
    ("Timestamp,DL_bitrate,Timestamp\n1,2,3\n", 1, "has Timestamp twice"),
    ('Timestamp,DL_bitrate,Operator\n1,2\n2,"X, Y"\n', 2, "2 columns: expected the header's 3"),
]


@pytest.mark.parametrize(("text", "line", "message"), MALFORMED)
def test_a_malformed_trace_names_its_line(
    tmp_path: Path, text: str | bytes, line: int | None, message: str
) -> None:
    with pytest.raises(TraceLineError) as refused:
        read(tmp_path, text)
    assert refused.value.line == line
    assert message in str(refused.value)


def test_a_log_without_the_direction(tmp_path: Path) -> None:
    with pytest.raises(TraceLineError, match="has no UL_bitrate"):
        read(tmp_path, "a,DL_bitrate\n1,5\n", way="up")


def test_a_file_in_another_format_than_said(tmp_path: Path) -> None:
    with pytest.raises(TraceLineError, match="expected seconds and Mbit/s"):
        read(tmp_path, "1\n", "cooked")


@pytest.mark.slow
def test_garbage_is_refused_quickly(tmp_path: Path) -> None:
    """100 MB by the size alone; the largest files that are read, line by line."""
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as sink:
        sink.truncate(100 << 20)
    noise, digits = os.urandom(LARGEST_TRACE), b"7" * LARGEST_TRACE
    packets, blank = b"1\n" * (LARGEST_TRACE // 2), b"\n" * LARGEST_TRACE
    began = time.process_time()
    with pytest.raises(TraceLineError, match="100 MiB: expected a trace of up to 8 MiB"):
        read_trace(sparse, AUTO, "down")
    for text in (noise, digits, packets, blank):
        with pytest.raises(TraceLineError):
            read(tmp_path, text)
    with pytest.raises(TraceLineError, match="no regular file"):
        read_trace(Path("/dev/zero"), AUTO, "down")
    assert time.process_time() - began < 5  # it takes 2.5 s


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "row", "line"),
    [
        ("", "{} 1\n", MOST_SAMPLES + 1),
        ("", "{}e-3 1\n", MOST_ROWS + 1),
        ("seconds,rate,delay,loss\n", "{},8mbit,40ms,1%\n", MOST_SAMPLES + 2),
        ("DL_bitrate\n", "1\n", MOST_SAMPLES + 2),
    ],
)
def test_a_trace_is_refused_at_the_first_line_too_many(
    tmp_path: Path, header: str, row: str, line: int
) -> None:
    """Though mistakes follow."""
    text = header + "".join(row.format(number) for number in range(line)) + "x\n" * 1_000_000
    began = time.process_time()
    with pytest.raises(TraceLineError, match="cut it in parts") as refused:
        read(tmp_path, text)
    assert refused.value.line == line
    assert time.process_time() - began < 5  # it takes 0.6 s


def test_a_file_without_a_size_is_empty() -> None:
    """The file of a process, of which a line would follow with each message of the kernel."""
    with pytest.raises(TraceLineError, match="the trace is empty"):
        read_trace(Path("/proc/kmsg"), AUTO, "down")


@pytest.mark.slow
@settings(deadline=None)
@given(st.binary(max_size=400) | st.text("0123456789 ,.-\nen+", max_size=400).map(str.encode))
def test_any_bytes_are_a_trace_or_refused(tmp_path_factory: pytest.TempPathFactory, text: bytes):
    folder = tmp_path_factory.getbasetemp()
    for kind in (AUTO, *FORMATS):
        try:
            trace = read(folder, text, kind)
        except TraceLineError:
            continue
        assert trace.samples[0].at == 0
        assert len(trace.samples) <= MOST_SAMPLES


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0 1",
        "0 1, end 0",
        "0 1, 0 2, end 3",
        "0 1_0, end 1",
        "0 １, end 1",
        "0 x, end 1",
        "end 1",
    ],
)
def test_a_text_that_is_no_trace(text: str) -> None:
    with pytest.raises(ValueError, match="of the trace"):
        LinkTrace.parse(text)


# -- statistics and the shipped traces -------------------------------------------------------------


def test_statistics_are_weighted_by_time() -> None:
    samples = [Sample(0, 0.0, 0.02), Sample(1, 2e6, 0.04), Sample(4, 8e6, None, 0.5)]
    found = statistics(LinkTrace.of(samples, 10.0))
    assert found.duration == 10
    assert found.outage == 0.1
    assert found.rate is not None and found.delay is not None and found.loss is not None
    assert found.rate.mean == pytest.approx((0 + 3 * 2e6 + 6 * 8e6) / 10)
    assert (found.rate.p5, found.rate.median, found.rate.p95) == (0, 8e6, 8e6)
    assert found.delay.mean == pytest.approx((0.02 + 3 * 0.04) / 4)
    assert (found.loss.least, found.loss.most) == (0.5, 0.5)


@pytest.mark.parametrize("name", TRACES)
def test_a_shipped_trace_is_made_again_byte_for_byte(name: str) -> None:
    text = TRACES[name]()
    assert (SHIPPED / name).read_text() == text
    assert len(text) <= 40_000
    assert read_trace(SHIPPED / name, AUTO, "down").end >= 60


def test_all_shipped_traces_are_made() -> None:
    assert {file.name for file in SHIPPED.iterdir()} == set(TRACES)
