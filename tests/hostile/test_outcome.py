"""Bounds of an attack, on a made-up log and made-up counts: each is seen when it is missed."""

import pytest

from emulator.log.lines import line
from emulator.log.records import HelloRecord, PullRecord, RefusedRecord, UpdateRecord
from tests.hostile.outcome import complaints, logged, table
from tests.hostile.siege import Order, Siege, Windows

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
    counts |= {"insiders' own": {"hostile-0": 7}, "breaks": 0, "connections": 0}
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


def test_an_honest_device_is_neither_refused_nor_spoken_for(siege, tmp_path):
    refused = RefusedRecord(1.0, "honest-1", "unreadable", 3)
    log = log_of(tmp_path, update("honest-1", 3, 0.5), refused)
    assert complaints(siege, log) == [
        "an update of honest-1 is missing, or is another device's",
        "3 messages of honest-1 were refused",
    ]
