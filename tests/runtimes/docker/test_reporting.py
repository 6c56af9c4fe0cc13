"""What supervisors report, as records of the run."""

from typing import Any

import pytest

from emulator.core.survivors import Survivors
from emulator.log.records import PlanRecord, Record
from emulator.runtimes.docker.reporting import Reports
from emulator.runtimes.docker.stdio import Said
from tests.fakes.plain_records import full, plain
from tests.fakes.virtual_world import Onlooker


class Logs:
    """NodeLogs that keep everything in lists."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.texts: list[str] = []

    def report(self, record: Record) -> None:
        self.records.append(record)

    def write(self, node: str, text: str) -> None:
        self.texts.append(text)


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def reports(logs: Logs) -> Reports:
    exits: Any = None  # nothing ends here
    written: Any = logs
    return Reports(exits, written, Onlooker(), Survivors(1, ()))


PLAN = full({"what": "plan", "at": 1.5, "node": "far", "kind": "dynacomm", "pull": [[1, 4]]})


def _said(**changes: Any) -> Said:
    return Said("far", "", {**plain(PLAN), "now": 101.7, **changes})


def test_a_device_s_plan_is_a_record_at_its_own_time(reports: Reports, logs: Logs) -> None:
    reports.begin(100.0)
    reports.hear(_said())
    (record,) = logs.records
    assert isinstance(record, PlanRecord)
    assert plain(record) == plain(PLAN)
    assert logs.texts == []  # a plan is long, and no message of the node


SECOND = {"packets": 40, "p50": 1e-4, "p99": 2e-3, "max": 0.01, "cpu": 0.02}


def test_how_late_packets_were_is_a_record_of_the_run_s_time(reports: Reports, logs: Logs) -> None:
    reports.late({"box": "lateness", "time": 99.5, "links": 2, **SECOND})
    reports.begin(100.0)
    reports.late({"box": "lateness", "time": 101.5, "links": 2, **SECOND})
    assert list(map(plain, logs.records)) == [{"at": 1.5, "what": "lateness", **SECOND}]


def test_a_plan_that_is_heard_of_before_the_run_has_begun_waits(
    reports: Reports, logs: Logs
) -> None:
    reports.hear(_said())
    assert logs.records == []
    reports.begin(100.0)
    assert [plain(record) for record in logs.records] == [plain(PLAN)]


def test_no_device_plans_for_another(reports: Reports, logs: Logs) -> None:
    reports.begin(100.0)
    reports.hear(_said(node="near"))
    assert plain(logs.records[0])["node"] == "far"
