"""A log that is cut anywhere, or in which any bit flips, gives the records before: never others."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.node.durable.segment_file import SegmentWriter, is_whole, read_segment

RECORDS = st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=5), min_size=1, max_size=6)


def written(path, records, number=7):
    path.unlink(missing_ok=True)
    with SegmentWriter(path, number) as writer:
        ends = []
        for record in records:
            writer.append(record)
            ends.append(writer.size)
    return path.read_bytes(), ends


@settings(max_examples=30, deadline=None)
@given(records=RECORDS)
def test_it_gives_back_the_records(records, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "whole.log"
    content, ends = written(path, records)
    assert list(read_segment(path, 7)) == records
    assert len(content) == ends[-1]
    assert list(read_segment(path, 8)) == []


@settings(max_examples=20, deadline=None)
@given(records=RECORDS)
def test_cut_at_every_byte_it_gives_the_whole_records_before(records, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "cut.log"
    content, ends = written(path, records)
    for length in reversed(range(len(content))):
        os.truncate(path, length)
        assert list(read_segment(path, 7)) == records[: sum(end <= length for end in ends)]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(records=RECORDS, data=st.data())
def test_any_flipped_bit_ends_the_log_before_its_record(records, data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "flipped.log"
    content, ends = written(path, records)
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    path.write_bytes(damaged)
    assert list(read_segment(path, 7)) == records[: sum(end <= bit // 8 for end in ends)]


def test_a_file_is_never_written_over(tmp_path):
    written(tmp_path / "a.log", [[b"x"]])
    with pytest.raises(FileExistsError):
        SegmentWriter(tmp_path / "a.log", 0)


def test_a_length_beyond_the_file_takes_no_memory(tmp_path):
    content, _ = written(tmp_path / "a.log", [[b"x"]])
    damaged = content[:16] + b"\xff\xff\xff\xff" + content[20:]
    (tmp_path / "a.log").write_bytes(damaged)
    assert list(read_segment(tmp_path / "a.log", 7)) == []


@pytest.mark.parametrize("order", [(0, 2, 3), (0, 1, 3, 2), (0, 1, 1, 2), (1, 2, 3), (0, 3, 1, 2)])
def test_a_sound_record_out_of_turn_ends_the_log(order, tmp_path):
    """One is missing, two have changed places, or one is there twice."""
    records = [[b"first"], [b"second", b""], [b"third"], [b"fourth"]]
    content, ends = written(tmp_path / "a.log", records)
    each = [content[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    (tmp_path / "a.log").write_bytes(b"".join(each[n] for n in order))
    turn = next(place for place, number in enumerate(order) if place != number)
    assert list(read_segment(tmp_path / "a.log", 7)) == records[:turn]
    assert not is_whole(tmp_path / "a.log", 7)
