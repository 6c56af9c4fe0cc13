"""Bounds of an attack, on a made-up log and made-up counts: each is seen when it is missed."""

from dataclasses import replace

import pytest

from emulator.log.lines import line
from emulator.log.records import HelloRecord, PullRecord, RefusedRecord, UpdateRecord
from tests.hostile.outcome import complaints, logged, table
from tests.hostile.outsider import answered
from tests.hostile.siege import Order, Siege, Windows, longest

UPDATE = {"staleness": 0, "divisor": 1.0, "compute": 0.1, "entries": 1}
BYTES = {"values": 4, "indices": 1, "headers": 9, "framing": 4}


def update(node, version, loss):
    return UpdateRecord(
        1.0, node=node, version=version, updates=version, loss=loss, **UPDATE, **BYTES
    )


def log_of(tmp_path, *records):
    """Return the counts of a log with `records` behind those of an attack in order."""
    usual = [
        HelloRecord(0.0, "hostile-0", 0),
        update("honest-1", 1, 1001.0),
        RefusedRecord(1.0, "hostile-0", "unreadable", 5),
        RefusedRecord(1.0, "hostile-0", "a frame too long: hung up", 2),
        PullRecord(1.0, "hostile-0", 1, 100),
        update("honest-1", 2, 2001.0),
    ]
    file = tmp_path / "run.jsonl"
    file.write_bytes(b"".join(map(line, [*usual, *records])))
    return logged(file)


@pytest.fixture
def siege():
    counts = {"insiders": {"mutated": 7}, "saboteurs": {}, "outsiders": {}}
    counts |= {"insiders' own": {"hostile-0": 7}, "breaks": 0, "connections": 0, "answers": 0}
    counts |= {"mutes' own": {"hostile-4": 9}, "mutes": {}, "repeats": {"hostile-0": 0}}
    windows = [Windows(1.0, updates, 0.1, [updates]) for updates in (95, 100)]
    memory = {"before": 50_000_000, "peak": 90_000_000, "after": 60_000_000}
    order, ratios = Order(7, 100.0, 1.0, 1), [0.5, 0.95, 0.95]
    return Siege(order, *windows, ratios, **memory, sent=7, seconds=1.0, counts=counts, alive=True)


def test_an_attack_in_order(siege, tmp_path):
    log = log_of(tmp_path)
    assert complaints(siege, log) == []
    assert "95.0%" in table(siege, log)


def test_each_bound_is_held(siege, tmp_path):
    siege.alive, siege.peak, siege.ratios, siege.sent = False, 101_000_000, [0.89], 6
    siege.counts["insiders' own"]["hostile-0"] = 8
    assert complaints(siege, log_of(tmp_path)) == [
        "the server did not end in order",
        "the server's memory grew by 51.0 MB, over 50 MB",
        "honest devices made 11.0% fewer updates/s, over 10 %",
        "hostile-0 sent 8 messages, and 7 are on record",
        "6 messages were sent, not 7",
    ]


@pytest.mark.parametrize(
    ("facts", "complaint"),
    [
        ({"stall": 5.0, "late": 0.1}, "honest devices had no model for 5.0 s, over 2 s"),
        ({"disk": 601_000_000}, "states and inputs took 601 MB, over 600 MB"),
        ({"back": False}, "the server, killed after the attack, did not come back"),
    ],
)
def test_what_no_median_shows_is_seen(siege, tmp_path, facts, complaint):
    for name, value in facts.items():
        setattr(siege, name, value)
    assert complaints(siege, log_of(tmp_path)) == [complaint]


def test_a_stall_of_the_host_is_no_stall_of_the_server(siege, tmp_path):
    siege.stall, siege.late = 5.0, 3.5
    assert complaints(siege, log_of(tmp_path)) == []


def test_strangers_get_no_answer(siege, tmp_path):
    siege.counts["answers"] = 1
    assert complaints(siege, log_of(tmp_path)) == ["strangers were answered on 1 connections"]


def test_a_log_that_a_device_fills_is_seen(siege, tmp_path):
    siege.counts["mutes' own"]["hostile-4"] = 3000
    pulls = [PullRecord(1.0, "hostile-4", 1, 100) for _ in range(3000)]
    assert complaints(siege, log_of(tmp_path, *pulls[:30])) == []
    (complaint,) = complaints(siege, log_of(tmp_path, *pulls, *pulls))
    assert complaint == "the log has 0.4 MB of hostile-4, for 3000 messages"


def test_pushes_once_more_have_no_record_with_durability(siege, tmp_path):
    siege.counts["insiders' own"]["hostile-0"] = 9
    siege.counts["repeats"]["hostile-0"] = 2
    assert complaints(siege, log_of(tmp_path)) == []
    siege.order = replace(siege.order, durable=False)
    assert complaints(siege, log_of(tmp_path)) == ["hostile-0 sent 9 messages, and 7 are on record"]


def test_the_longest_time_counts_from_the_begin_to_the_end():
    assert longest([[1.0, 2.0, 2.5], [0.5, 1.0, 1.5]], 1.0, 3.0) == 1.5
    assert longest([[], [1.0]], 1.0, 8.0) == 7.0


@pytest.mark.parametrize(
    ("heard", "answer"),
    [
        (b"", False),
        (bytes(64), False),
        (bytes(64) + b"\x04\x20\x05ERROR\x07invalid", False),
        (bytes(64) + b"\x04\x08\x07WELCOME", True),
        (bytes(64) + b"\x00\x05hello", True),
    ],
)
def test_an_answer_is_more_than_a_greeting_and_a_refusal(heard, answer):
    assert answered(heard) is answer


def test_an_honest_device_is_neither_refused_nor_spoken_for(siege, tmp_path):
    refused = RefusedRecord(1.0, "honest-1", "unreadable", 3)
    log = log_of(tmp_path, update("honest-1", 3, 0.5), refused)
    assert complaints(siege, log) == [
        "an update of honest-1 is missing, or is another device's",
        "3 messages of honest-1 were refused",
    ]
