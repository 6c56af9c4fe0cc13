"""A line of JSON for every event, whole or not at all."""

import io

from hypothesis import given
from hypothesis import strategies as st

from emulator.log import lines
from emulator.log.lines import RunLog
from emulator.log.records import EvaluationRecord, HelloRecord, PullRecord, Record


def test_a_record_is_on_disk_as_soon_as_it_is_written() -> None:
    sink = io.BytesIO()
    log = RunLog(sink)
    log.write(EvaluationRecord(1.23456789, 4, 4, accuracy=0.5, loss=float("nan"), push_bytes=9))
    assert sink.getvalue() == (
        b'{"at":1.234568,"what":"evaluation","version":4,"updates":4,'
        b'"accuracy":0.5,"loss":null,"push_bytes":9}\n'
    )


def test_a_listener_is_shown_the_records_that_are_written() -> None:
    sink, heard = io.BytesIO(), []
    log = RunLog(sink, heard.append)
    log.write(HelloRecord(-0.25, "a", 0))
    log.write(PullRecord(1.00000051, "a", 3, bytes=9))
    assert heard == [HelloRecord(-0.25, "a", 0), PullRecord(1.000001, "a", 3, bytes=9)]
    assert list(map(lines.parse, sink.getvalue().splitlines())) == heard


@given(at=st.floats(-1e7, 1e7))
def test_times_are_told_to_the_microsecond(at: float) -> None:
    heard: list[Record] = []
    RunLog(io.BytesIO(), heard.append).write(HelloRecord(at, "a", 0))
    result = heard[0].at
    assert abs(result - at) <= 0.51e-6
    assert result == round(result, 6)  # with no digits beyond
