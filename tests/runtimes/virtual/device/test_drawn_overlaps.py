"""Faults that come while another fault of the same verb holds the device, in virtual time."""

from pathlib import Path

import pytest

import analysis
from analysis.facts.faults import actions
from analysis.pages.run_warnings import warnings
from emulator.cli.watching.run_views import describe_record
from emulator.log.lines import read
from emulator.log.records import Record
from emulator.log.records.fault_records import OverlapRecord
from tests.fakes.virtual_world import played

WORLD = """
name: overlaps
training: {dataset: digits, model: digits-mlp, batch_size: 8, codec: dense}
stop: {time: 6s}
virtual: {learner: none, step: 100ms, boot: 500ms, serve: 0s}
devices:
  - {name: a, link: {up: {delay: 10ms}, down: {delay: 10ms}}}
  - {name: b}
faults:
"""
CUT = "  - {kind: partition, nodes: [a], at: 1s, lasts: 2s}\n"
LAG = "  - {kind: straggler, nodes: [a], at: 0s, delay: 1.7s, lasts: 10s}\n"
ENDLESS = "  - {kind: partition, nodes: [a], per_iteration: 100%}\n"
SLOW = "  - {kind: slow, nodes: [a], at: 1s, lasts: 2s, factor: 50%}\n"


def drawn(tmp_path: Path, faults: str) -> list[Record]:
    folder, _, _ = played(tmp_path, text=WORLD + faults)
    own = [record for record in read(folder / "run.jsonl") if getattr(record, "node", "") == "a"]
    return [record for record in own if hasattr(record, "fault")]


def test_an_endless_cut_that_is_drawn_under_another_is_on_record(tmp_path: Path) -> None:
    """The device waits out a lag under the planned cut, and draws then."""
    records = drawn(tmp_path, CUT + LAG + ENDLESS)
    assert [record.what for record in records] == ["lag", "sever", "overlap"]
    overlap = records[-1]
    assert 1.7 < overlap.at < 2.0
    assert overlap == OverlapRecord(overlap.at, "a", "partition", "sever", None)
    assert describe_record(overlap).endswith("a drew partition for good, under another sever")


BATTERY = (
    "  - {kind: energy, nodes: [a], capacity: 1J, idle: 2W, back: 90%, starts: 100%, "
    "recharge: [{begin: 0s, end: 100s, power: 1W}]}\n"
)
OVERLAPS = {
    "a battery": (BATTERY + "  - {kind: crash, nodes: [a], at: 1500ms, lasts: 200ms}\n", 1, 0),
    "a drawn cut": (LAG + ENDLESS + CUT.replace("1s", "3s"), 1, 0),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_a_planned_fault_that_another_swallows_is_on_record(tmp_path: Path, name: str) -> None:
    faults, overlapped, realised = OVERLAPS[name]
    text = WORLD.replace("stop:", "server: {durability: update}\nstop:") + faults
    folder, summary, _ = played(tmp_path, text=text)
    records = list(read(folder / "run.jsonl"))
    overlaps = [record for record in records if isinstance(record, OverlapRecord)]
    assert len(overlaps) == summary["faults_overlapped"]
    assert summary["faults_planned"] == summary["faults_realised"] + len(overlaps)
    cuts = sum(
        record.what in ("sever", "kill") and record.planned == 1.0
        for record in records
        if hasattr(record, "begins")
    )
    assert (len(overlaps), cuts) == (overlapped, realised)
    assert all(record.planned == record.at and record.lasts is None for record in overlaps)
    assert "under another" in describe_record(overlaps[0])
    assert warnings(analysis.read(folder)) == []


@pytest.mark.parametrize("lasts", ["", ", lasts: 30s"])
def test_a_planned_end_under_a_drawn_cut_is_no_doubt(tmp_path: Path, lasts: str) -> None:
    rest = LAG + ENDLESS.replace("100%", f"100%{lasts}")
    run = analysis.read(played(tmp_path, text=WORLD + CUT + rest)[0])
    assert warnings(run) == []
    table = actions(run)
    assert list(table[table["needless"]]["verb"]) == ["mend"]


def test_each_drawn_fault_with_an_end_is_on_record_and_only_the_first_for_good(
    tmp_path: Path,
) -> None:
    each = "  - {kind: slow, nodes: [a], per_iteration: 100%, factor: 40%, lasts: LASTS}\n"
    records = drawn(tmp_path / "ends", SLOW + each.replace("LASTS", "5s"))
    overlaps = [record for record in records if isinstance(record, OverlapRecord)]
    drawn_ones = [record for record in overlaps if record.planned is None]
    assert len(drawn_ones) > 10 and {record.lasts for record in drawn_ones} == {5.0}
    records = drawn(tmp_path / "good", SLOW + each.replace(", lasts: LASTS", ""))
    assert [getattr(record, "planned", None) for record in records[1:]] == [1.0]  # the planned one
    rare = each.replace("100%", "10%").replace(", lasts: LASTS", "")
    late = SLOW.replace("at: 1s", "at: 0s").replace("lasts: 2s", "lasts: 6s")
    records = drawn(tmp_path / "rare", late + rare)
    assert [record.what for record in records] == ["throttle", "overlap"]
