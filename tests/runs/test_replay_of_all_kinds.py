"""Replays of a fleet under all kinds of faults: in virtual time, and of a log that containers
wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.log.lines import read
from emulator.log.records.fault_records import FaultRecord
from emulator.runs.replay import read_replay
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Scenario, loads
from emulator.world.faults import FAULTS
from tests.containers.kinds.fleet import END, FLEET
from tests.fakes.small_scenario import SCENARIOS
from tests.fakes.virtual_world import Onlooker

RECORDED = Path(__file__).parent / "recorded" / "containers.jsonl"
"""Records of faults in the log of a run of `FLEET` in containers."""


def fleet() -> Scenario:
    # few steps: only the faults count
    return loads(FLEET, ["virtual.step=2s"], folder=SCENARIOS)


def faults(folder: Path) -> list[FaultRecord]:
    return [record for record in read(folder / "run.jsonl") if isinstance(record, FaultRecord)]


def struck(records: list[FaultRecord]) -> list[tuple[Any, ...]]:
    """Return time, verb, device, fault and setting of each of `records`, in order."""
    told = [
        (record.at, record.what, record.node, record.fault, json.dumps(record.setting))
        for record in records
    ]
    return sorted(told)


@pytest.mark.slow
def test_a_virtual_run_is_replayed_with_the_faults_of_all_kinds(tmp_path: Path) -> None:
    first, _ = play(fleet(), tmp_path, Onlooker())
    found = faults(first)
    assert {record.fault for record in found} == set(FAULTS)
    again, _ = play(fleet(), tmp_path, Onlooker(), replay=read_replay(first))
    assert struck(faults(again)) == struck(found)


def test_faults_that_containers_realised_strike_again_in_virtual_time(tmp_path: Path) -> None:
    folder = tmp_path / "kinds" / "docker"
    folder.mkdir(parents=True)
    (folder / "run.jsonl").write_bytes(RECORDED.read_bytes())
    recorded = faults(folder)
    assert {record.fault for record in recorded} == set(FAULTS)
    replay = read_replay(folder)
    again, summary = play(fleet(), tmp_path, Onlooker(), replay=replay)
    in_time = [record for record in recorded if record.at <= END]
    assert len(recorded) - len(in_time) < 5
    assert struck(faults(again)) == struck(in_time)
    assert summary["faults_realised"] == sum(record.begins for record in in_time)
    # containers would be conducted by the same actions from the log of the virtual run
    back = [timed for timed in replay.timeline if timed.at <= END]
    assert list(read_replay(again).timeline) == back
