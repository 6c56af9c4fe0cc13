"""Outages and actions of faults, as the analysis pairs their records."""

from pathlib import Path

import pytest

from analysis.facts import faults
from analysis.facts.faults import UNDOES, actions
from analysis.pages.run_warnings import warnings
from emulator.world.verbs import VERBS
from tests.fakes.runs.handmade_run import act, due, written


def test_outages_last_from_kill_to_boot_and_from_sever_to_mend(tmp_path: Path) -> None:
    records = [
        act(1.1, "kill", "a", "crash", 1.0),
        act(2.0, "sever", "b", "partition", 2.0),
        act(2.5, "sever", "a", "partition", 2.5),
        act(3.2, "boot", "a", "crash", 3.0),
        {"at": 4.0, "what": "exit", "node": "c", "code": 137, "reason": "out of memory"},
        act(5.0, "mend", "a", "partition", 5.0),
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    run = written(tmp_path, records)
    assert set(faults.outages(run).itertuples(index=False, name=None)) == {
        ("a", "crash", 1.1, 3.2),
        ("a", "partition", 2.5, 5.0),
        ("b", "partition", 2.0, 9.0),
        ("c", "exit", 4.0, 9.0),
    }
    assert faults.downtime(run).to_dict() == pytest.approx({"a": 3.9, "b": 7.0, "c": 5.0})


def test_a_fault_that_goes_on_after_a_resumption_has_begun_once(tmp_path: Path) -> None:
    records = [
        act(1.0, "kill", "a", "crash", 1.0),
        {**act(3.0, "kill", "a", "crash", 2.9), "again": True},
        act(5.0, "boot", "a", "crash", 5.0),
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    timeline = [due(1.0, "kill", "a", "crash"), due(5.0, "start", "a", "crash")]
    run = written(tmp_path, records, timeline)
    assert run.faults_begun == 1
    assert faults.outages(run)[["at", "until"]].to_numpy().tolist() == [[1.0, 5.0]]
    assert actions(run)[["at", "drawn"]].to_numpy().tolist() == [[1.0, False], [5.0, False]]


def test_a_cut_that_begins_as_another_ends_is_an_outage_of_its_own(tmp_path: Path) -> None:
    records = [
        act(1.0, "sever", "a", "partition", 1.0),
        act(2.0, "mend", "a", "partition", 2.0),
        act(2.0, "sever", "a", "partition", 2.0),
        act(3.0, "mend", "a", "partition", 3.0),
        act(4.0, "sever", "a", "partition", 4.0),
        act(4.0, "mend", "a", "partition", 4.0),
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    table = faults.outages(written(tmp_path, records))
    assert table[["at", "until"]].to_numpy().tolist() == [[1, 2], [2, 3], [4, 4]]


def test_outages_of_any_verb_are_paired_by_the_fields_of_their_records(tmp_path: Path) -> None:
    """The analysis has no list of verbs: a kind of record that is new to it needs no change."""
    facts = [
        ("throttle", "slowdown", True, 1.0),
        ("sever", "flap", True, 2.0),
        ("release", "slowdown", False, 3.0),
        ("mend", "flap", False, 4.0),
        ("throttle", "slowdown", True, 5.0),
    ]
    records = [
        {"at": at, "what": what, "node": "a", "fault": fault, "begins": begins, "planned": at}
        for what, fault, begins, at in facts
    ]
    run = written(tmp_path, [*records, {"at": 9.0, "what": "stop", "reason": "time"}])
    assert list(faults.outages(run).itertuples(index=False, name=None)) == [
        ("a", "slowdown", 1.0, 3.0),
        ("a", "flap", 2.0, 4.0),
        ("a", "slowdown", 5.0, 9.0),
    ]
    assert run.faults_begun == 3
    assert faults.actions(run)["drawn"].all()


def test_crashes_with_and_without_state_end_each_with_its_own_boot(tmp_path: Path) -> None:
    records = [
        act(1.0, "kill", "a", "crash", 1.0),
        act(2.0, "halt", "a", "crash", 2.0),
        act(3.0, "reboot", "a", "crash", 3.0),
        act(6.0, "boot", "a", "crash", 6.0),
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    run = written(tmp_path, records)
    table = faults.outages(run)
    assert table[["at", "until"]].to_numpy().tolist() == [[1, 6], [2, 3]]
    assert faults.downtime(run).to_dict() == {"a": 5.0}


def test_a_boot_ends_an_unasked_exit_too(tmp_path: Path) -> None:
    records = [
        {"at": 1.0, "what": "exit", "node": "a", "code": 1, "reason": "it failed"},
        act(2.0, "sever", "a", "partition", 2.0),
        act(3.0, "kill", "a", "crash", 3.0),
        act(4.0, "mend", "a", "partition", 4.0),
        act(5.0, "boot", "a", "crash", 5.0),
    ]
    assert set(faults.outages(written(tmp_path, records)).itertuples(index=False, name=None)) == {
        ("a", "exit", 1.0, 5.0),
        ("a", "partition", 2.0, 4.0),
    }


@pytest.mark.parametrize(
    ("begin", "end"), [("leave", "join"), ("halt", "reboot"), ("kill", "boot")]
)
def test_each_verb_that_boots_ends_an_unasked_exit(tmp_path: Path, begin: str, end: str) -> None:
    records = [
        {"at": 1.0, "what": "exit", "node": "a", "code": 1, "reason": "it failed"},
        act(3.0, begin, "a", "churn", 3.0),
        act(5.0, end, "a", "churn", 5.0),
        act(9.0, "sever", "a", "partition", 9.0),
    ]
    rows = faults.outages(written(tmp_path, records)).itertuples(index=False, name=None)
    assert next(rows) == ("a", "exit", 1.0, 5.0)


def test_a_sign_of_life_ends_an_unasked_exit(tmp_path: Path) -> None:
    gone = {"what": "exit", "code": -9, "reason": "killed"}
    records = [
        *({"at": 0.0, "what": "hello", "node": node, "incarnation": 1} for node in "ab"),
        {"at": 1.0, "node": "server", **gone},
        {"at": 2.0, "node": "a", **gone},
        {"at": 3.0, "what": "recovered", "version": 7, "lost": 0, "zero": 0.5},
        {"at": 4.0, "node": "b", **gone},
        {"at": 5.0, "what": "hello", "node": "a", "incarnation": 2},
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    assert set(faults.outages(written(tmp_path, records)).itertuples(index=False, name=None)) == {
        ("server", "exit", 1.0, 3.0),
        ("a", "exit", 2.0, 5.0),
        ("b", "exit", 4.0, 9.0),
    }


def test_each_planned_action_meets_the_one_that_was_realised(tmp_path: Path) -> None:
    timeline = [
        due(at, verb, "a", fault)
        for at, verb, fault in (
            (1.0, "kill", "crash"),
            (2.0, "start", "crash"),
            (6.0, "sever", "partition"),
            (50.0, "kill", "crash"),
        )
    ]
    records = [
        act(1.2, "kill", "a", "crash", 1.0),
        act(2.1, "boot", "a", "crash", 2.0),
        act(3.0, "kill", "a", "crash", 3.0),
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    run = written(tmp_path, records, timeline)
    table = faults.actions(run)
    assert table["planned"].to_list() == [1.0, 2.0, 3.0, 6.0, 50.0]
    assert table["late"].to_list()[:2] == pytest.approx([0.2, 0.1])
    assert table["drawn"].to_list() == [False, False, True, False, False]
    assert table["at"].isna().to_list() == [False, False, False, True, True]
    assert any("1 planned actions never happened" in warning for warning in warnings(run))


def test_an_action_that_finds_its_device_held_by_a_drawn_fault_is_not_missed(
    tmp_path: Path,
) -> None:
    timeline = [
        due(at, verb, "a", fault)
        for at, verb, fault in (
            (2.0, "kill", "crash"),  # a drawn crash lasts from 1 to 5
            (4.0, "start", "crash"),
            (6.0, "sever", "partition"),
            (7.0, "mend", "partition"),  # a drawn partition lasts until 8
            (8.2, "kill", "crash"),  # nothing explains that it is missing
        )
    ]
    records = [
        act(1.0, "kill", "a", "crash", 1.0),
        act(5.0, "boot", "a", "crash", 5.0),
        act(6.0, "sever", "a", "partition", 6.0),
        act(8.0, "mend", "a", "partition", 8.0),
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    run = written(tmp_path, records, timeline)
    needless = faults.actions(run).query("needless")
    assert needless["planned"].to_list() == [2.0, 4.0, 7.0]
    assert [warning for warning in warnings(run) if "never happened" in warning] == [
        "1 planned actions never happened, although they were due"
    ]


def test_each_verb_that_ends_a_fault_is_known() -> None:
    undone = {verb.undone_by: verb.name for verb in VERBS}
    records = {verb.undone_record: verb.name for verb in VERBS}
    assert {**undone, **records} == UNDOES


def test_a_planned_fault_under_a_drawn_one_of_its_verb_is_needless(tmp_path: Path) -> None:
    """A device that has left as it drew cannot leave as its churn has planned."""
    records = [
        act(1.0, "leave", "a", "leave", 1.0),
        act(5.0, "join", "a", "leave", 5.0),
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    plan = [due(2.0, "leave", "a", "churn"), due(3.0, "join", "a", "churn")]
    plan += [due(6.0, "leave", "a", "churn"), due(7.0, "sever", "a", "flap")]
    table = actions(written(tmp_path, records, plan))
    missing = table[table["at"].isna()]
    assert list(missing["needless"]) == [True, True, False, False]


def test_a_slow_device_is_not_gone(tmp_path: Path) -> None:
    records = [
        act(1.0, "throttle", "a", "slow", 1.0),
        act(2.0, "pause", "a", "pause", 2.0),
        act(3.5, "resume", "a", "pause", 3.5),
        act(6.0, "unthrottle", "a", "slow", 6.0),
        {"at": 9.0, "what": "stop", "reason": "time"},
    ]
    assert faults.downtime(written(tmp_path, records)).to_dict() == {"a": 1.5}
