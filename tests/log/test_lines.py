"""Lines of a log: read back as they were written, cut short, damaged, or of a later version."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from emulator.log import lines, records
from emulator.log.lines import Tail
from tests.fakes.plain_records import full, plain

TIMES = st.floats(-1e6, 1e6)
SEGMENTS = st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), max_size=3)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "divisor": st.none() | st.floats(),
    "loss": st.none() | st.floats(),
    "code": st.none() | st.integers(-15, 255),
    "node": st.text(max_size=12),
    "reason": st.text(max_size=12),
    "rx": st.integers(0, 2**53),
    "pull": SEGMENTS,
    "pushed": st.lists(st.tuples(TIMES, TIMES), max_size=3),
    "down_rate": st.none() | st.floats(),
    "forward_times": st.lists(TIMES, max_size=3),
    "versions": st.lists(st.integers(0, 99), max_size=3),
    "sent": st.dictionaries(st.sampled_from(["conv1/kernel", "bias"]), st.integers(0, 9)),
    "residue": st.dictionaries(st.sampled_from(["conv1/kernel", "bias"]), st.floats(0, 9)),
    "paper": st.none() | st.dictionaries(st.sampled_from(["conv", "bias"]), st.integers(0, 9)),
    "count": st.integers(1, 99),
    "detail": st.text(max_size=3),
    "scored": st.none() | TIMES,
}
"""Fields that are drawn; the others are zero or empty."""
METRICS = st.dictionaries(st.sampled_from(["accuracy", "loss"]), st.floats(0, 9))


@st.composite
def drawn_record(draw: st.DrawFn) -> records.Record:
    struct = draw(st.sampled_from(list(records.KINDS.values())))
    facts = {
        field.name: draw(VALUES[field.name]) for field in fields(struct) if field.name in VALUES
    }
    if struct is records.MetricRecord:  # another record's `values` are bytes
        facts["values"] = draw(METRICS)
    return full({"at": draw(TIMES), "what": records.kind(struct), **facts})


RECORDS = st.lists(drawn_record(), max_size=6)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that all examples of a test share."""
    return tmp_path_factory.mktemp("log") / "run.jsonl"


def written(log: list[records.Record]) -> bytes:
    return b"".join(map(lines.line, log))


def as_json(record: records.Record) -> dict[str, Any]:
    """JSON has neither NaN nor infinity, and lists in place of tuples."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in json.loads(json.dumps(plain(record))).items()
    }


@pytest.mark.slow
@given(log=RECORDS)
@settings(max_examples=100, deadline=None)
def test_records_are_read_as_they_were_written(log: list[records.Record], path: Path) -> None:
    path.write_bytes(written(log))
    assert [as_json(record) for record in lines.read(path)] == list(map(as_json, log))
    assert [json.loads(text) for text in path.read_bytes().splitlines()] == list(map(as_json, log))


@pytest.mark.slow
@given(record=drawn_record())
def test_a_line_has_its_time_and_kind_first_and_then_the_fields_in_order(
    record: records.Record,
) -> None:
    first, second, *others = json.loads(lines.line(record))
    assert (first, second) == ("at", "what")
    declared = [field.name for field in fields(type(record))]
    assert others == [name for name in declared if name in others]


@given(log=RECORDS, cut=st.integers(0, 400))
@settings(max_examples=50, deadline=None)
def test_a_last_line_that_was_cut_short_is_left_out(
    log: list[records.Record], cut: int, path: Path
) -> None:
    path.write_bytes(written(log)[:cut])
    whole = written(log)[:cut].count(b"\n")
    assert [as_json(record) for record in lines.read(path)] == list(map(as_json, log))[:whole]


@given(log=RECORDS, cuts=st.lists(st.integers(0, 400), max_size=5))
@settings(max_examples=50, deadline=None)
def test_a_tail_sees_each_record_once_however_it_is_written(
    log: list[records.Record], cuts: list[int], path: Path
) -> None:
    path.unlink(missing_ok=True)
    tail, content, seen = Tail(path), written(log), []
    assert list(tail.read()) == []  # there is no file yet
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(content)], strict=True):
        with path.open("ab") as file:
            file.write(content[begin:end])
        seen += list(tail.read())
    assert [as_json(record) for record in seen] == list(map(as_json, log))
    assert list(tail.read()) == []


def test_a_log_is_read_in_blocks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_BLOCK", 7)
    log: list[records.Record] = [records.CheckpointRecord(n, n) for n in range(40)]
    path.write_bytes(written(log) + b'{"at":9')
    assert list(lines.read(path)) == log


def test_kinds_and_fields_of_a_later_version_are_skipped(path: Path) -> None:
    path.write_bytes(
        b'{"at":1.0,"what":"rotate","node":"a"}\n'
        b'{"at":2.0,"what":"checkpoint","version":4,"mood":{"good":true}}\n'
    )
    known = [records.CheckpointRecord(2.0, 4)]
    assert list(lines.read(path)) == list(Tail(path).read()) == known


@pytest.mark.parametrize(
    "damage",
    [
        b"nonsense",
        b"[1]",
        b'{"at":1.0}',
        b'{"at":1.0,"what":3}',
        b'{"at":1.0,"what":"checkpoint"}',
        b'{"at":"soon","what":"checkpoint","version":1}',
        b'{"at":1.0,"what":"checkpoint","version":"\xff"}',
        b"[" * 100_000,
    ],
)
def test_the_first_damaged_line_is_named(path: Path, damage: bytes) -> None:
    sound = written([records.CheckpointRecord(1.0, 1)])
    path.write_bytes(sound + damage + b"\n" + sound)
    with pytest.raises(ValueError, match=r"run\.jsonl:2: not a record"):
        list(lines.read(path))
    with pytest.raises(ValueError, match="not a record"):
        list(Tail(path).read())


def test_a_record_of_an_older_version_is_named_as_such() -> None:
    with pytest.raises(ValueError, match=r"`begins`.*an older version wrote other fields"):
        lines.parse(b'{"at":1.0,"what":"kill","node":"a","fault":"crash","planned":1.0}\n')
