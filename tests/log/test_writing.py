"""One line of JSON for each thing that happened, whole or not at all."""

import io
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.log import writing
from emulator.log.tail import Tail
from emulator.log.writing import RunLog

FACTS = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda key: key not in ("at", "what", "self")),
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(max_size=12),
    max_size=4,
)
RECORDS = st.lists(
    st.builds(
        lambda at, what, facts: {"at": at, "what": what, **facts},
        st.floats(-1e6, 1e6),
        st.sampled_from(["update", "pull", "kill"]),
        FACTS,
    ),
    max_size=6,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a test."""
    return tmp_path_factory.mktemp("log") / "run.jsonl"


def written(records: list[writing.Record]) -> bytes:
    return b"".join(map(writing.line, records))


def as_json(record: writing.Record) -> writing.Record:
    """JSON has neither NaN nor infinity."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
    }


def test_a_record_is_on_disk_as_soon_as_it_is_written() -> None:
    sink = io.BytesIO()
    log = RunLog(sink)
    log.write(1.23456789, "update", node="a", loss=float("nan"))
    assert sink.getvalue() == b'{"at":1.234568,"what":"update","node":"a","loss":null}\n'


@given(records=RECORDS)
@settings(max_examples=50, deadline=None)
def test_what_is_read_is_what_was_written(records: list[writing.Record], path: Path) -> None:
    path.write_bytes(written(records))
    read = list(writing.read(path))
    assert read == list(map(as_json, records))
    assert read == [json.loads(line) for line in path.read_bytes().splitlines()]


@given(records=RECORDS, cut=st.integers(0, 400))
@settings(max_examples=50, deadline=None)
def test_a_last_line_that_was_cut_short_is_left_out(
    records: list[writing.Record], cut: int, path: Path
) -> None:
    path.write_bytes(written(records)[:cut])
    whole = written(records)[:cut].count(b"\n")
    assert list(writing.read(path)) == list(map(as_json, records))[:whole]


@given(records=RECORDS, cuts=st.lists(st.integers(0, 400), max_size=5))
@settings(max_examples=50, deadline=None)
def test_a_tail_sees_each_record_once_however_it_is_written(
    records: list[writing.Record], cuts: list[int], path: Path
) -> None:
    path.unlink(missing_ok=True)
    tail, content, seen = Tail(path), written(records), []
    assert list(tail.read()) == []  # there is no file yet
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(content)], strict=True):
        with path.open("ab") as file:
            file.write(content[begin:end])
        seen += list(tail.read())
    assert seen == list(map(as_json, records))
    assert list(tail.read()) == []


def test_a_listener_is_shown_what_is_written() -> None:
    sink, heard = io.BytesIO(), []
    log = RunLog(sink, heard.append)
    log.write(-0.25, "hello", node="a")
    log.write(1.00000051, "pull", node="a", bytes=9)
    assert heard == [
        {"at": -0.25, "what": "hello", "node": "a"},
        {"at": 1.000001, "what": "pull", "node": "a", "bytes": 9},
    ]
    assert list(map(writing.parse, sink.getvalue().splitlines())) == heard


@given(at=st.floats(-1e7, 1e7))
def test_times_are_told_to_the_microsecond(at: float) -> None:
    heard: list[writing.Record] = []
    RunLog(io.BytesIO(), heard.append).write(at, "pull")
    told = heard[0]["at"]
    assert abs(told - at) <= 0.51e-6
    assert told == round(told, 6)  # with no digits beyond


def test_a_log_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_BLOCK", 7)
    path, records = tmp_path / "run.jsonl", [{"at": n, "what": "x" * n} for n in range(40)]
    path.write_bytes(written(records) + b'{"at":9')
    assert list(writing.read(path)) == records
