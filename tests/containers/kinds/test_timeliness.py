"""Every kind of fault in containers: on time, as in virtual time, and nothing left behind."""

import itertools
import json
from statistics import median

import pytest

from emulator.world.faults import FAULTS
from tests.containers.conftest import left
from tests.containers.kinds.conftest import ended
from tests.containers.kinds.fleet import DRAWN, END, TAKEN

pytestmark = [pytest.mark.docker, pytest.mark.thorough, pytest.mark.timeout(300)]


def test_the_observer_kept_looking(fleet):
    """Else the bounds of the other tests would say nothing."""
    looks = fleet.samples["calm"]
    gaps = [after.at - before.at for before, after in itertools.pairwise(looks)]
    assert median(gaps) < 0.15
    assert set(fleet.links) == {"degraded", "rated", "lossy", "preset"}
    assert fleet.summary["outcome"] == "success"
    assert fleet.summary["duration_s"] == pytest.approx(END, abs=0.1)


@pytest.mark.parametrize("kind", FAULTS)
def test_each_action_is_done_in_time(fleet, kind):
    done = [r for r in fleet.records if r.get("fault") == kind and "begins" in r]
    assert {record["begins"] for record in done} == {True, False}
    late = {(r["node"], r["what"], r["planned"]): round(r["at"] - r["planned"], 3) for r in done}
    print(kind, late)
    assert all(0 <= seconds < _bound(fleet, kind) for seconds in late.values()), late


def _bound(fleet, kind):
    return TAKEN if kind == "memory" else fleet.late


@pytest.mark.parametrize("kind", FAULTS)
def test_virtual_time_logs_the_same_faults_at_the_same_times(fleet, twin, kind):
    here, there = (_planned(run.records, kind, fleet.late) for run in (fleet, twin))
    assert here.keys() == there.keys()
    assert here or kind == "energy"
    for action, at in here.items():
        assert abs(at - there[action]) < _bound(fleet, kind), action
    texts = [(run.folder / "timeline.jsonl").read_text() for run in (fleet, twin)]
    assert texts[0] == texts[1]


def _planned(records, kind, late):
    """Return the time of each action of `kind` planned over `late` seconds before the end."""
    return {
        (r["node"], r["what"], r["planned"], json.dumps(r.get("setting"))): r["at"]
        for r in records
        if r.get("fault") == kind and r["node"] not in DRAWN and r["planned"] < END - late
    }


def test_each_planned_action_is_done(fleet):
    lines = (fleet.folder / "timeline.jsonl").read_text().splitlines()
    planned = [json.loads(line) for line in lines]
    due = sorted((each["at"], each["node"]) for each in planned if each["at"] < END - fleet.late)
    done = sorted((r["planned"], r["node"]) for r in fleet.records if "begins" in r)
    assert [each for each in done if each[1] not in DRAWN] == due


def test_a_battery_is_empty_and_charged_at_the_same_times_in_both_runtimes(fleet, twin):
    """125 J at 20 W and a little for computing; half of 125 J from 8.35 s on at 50 W."""
    for run in (fleet, twin):
        kill, boot = run.of("battery")
        assert (kill["what"], boot["what"]) == ("kill", "boot")
        assert 125 / 21 - 0.1 < kill["at"] < 125 / 20 + fleet.late
        assert 9.6 <= boot["at"] < 9.6 + fleet.late


def test_a_device_without_a_fault_never_falls_silent(fleet):
    assert fleet.changes("calm", lambda look: (look.part, look.stopped, look.quota)) == []
    times = [record["at"] for record in fleet.said("update", node="calm")]
    silences = [b - a for a, b in itertools.pairwise(times) if not 20 < b < 23]
    assert len(times) > 60 and median(silences) < 0.5


def test_nothing_is_left(fleet, client):
    assert len(fleet.parts) > 27
    assert ended(fleet.parts, 10.0)
    assert not left(client, fleet.folder)
    assert {r["node"] for r in fleet.said("exit")} == {"small"}
