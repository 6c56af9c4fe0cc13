"""What supervisors report, as records of the run."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from emulator.core.survivors import Survivors
from emulator.log.records import PlanRecord, Record
from emulator.machine.host import Load
from emulator.node.config import Delay
from emulator.node.reports import (
    DelayReport,
    DrawnReport,
    LatenessLine,
    NodeReport,
    QuotaReport,
    RecordReport,
    TrafficReport,
)
from emulator.runtimes.docker.engine.stdio import Said
from emulator.runtimes.docker.host_log import HostLog
from emulator.runtimes.docker.reporting import Reports
from emulator.world.emulated_clock import EmulatedClock
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


PLAN = full({"what": "plan", "at": 1.5, "node": "far", "kind": "dynacomm", "pull": [(1, 4)]})


def _said(**changes: Any) -> Said:
    record = Raw(json.dumps({**plain(PLAN), **changes}).encode())
    return Said("far", "the line", RecordReport(record), 101.7)


def test_a_device_s_plan_is_a_record_at_its_own_time(reports: Reports, logs: Logs) -> None:
    reports.begin(100.0)
    reports.hear(_said())
    (record,) = logs.records
    assert isinstance(record, PlanRecord)
    assert plain(record) == plain(PLAN)
    assert logs.texts == []  # a plan is long, and no message of the node


SECOND: dict[str, Any] = {
    "packets": 40,
    "p50": 1e-4,
    "p99": 2e-3,
    "max": 0.01,
    "cpu": 0.02,
    "dropped": 3,
}


def test_how_late_packets_were_is_a_record_of_the_run_s_time(reports: Reports, logs: Logs) -> None:
    reports.late(LatenessLine(99.5, **SECOND), 99.5)
    reports.begin(100.0)
    reports.late(LatenessLine(101.5, **SECOND), 101.5)
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


def test_processor_time_goes_to_the_host_s_log(logs: Logs) -> None:
    load = Load()
    host = HostLog(load, {"far"})
    exits: Any = None
    written: Any = logs
    reports = Reports(exits, written, Onlooker(), Survivors(1, ()), host=host)
    reports.begin(100.0)
    for second in range(3):
        for node, used, waited in (("server", 0.25, 0.0), ("far", 0.1, 0.75), ("near", 1.0, 0.0)):
            report = TrafficReport(1, 2, [used * second, waited * second])
            reports.hear(Said(node, "", report, 101.0 + second))
        load.busy.append(0.5)
        load.pressure.append(None if second == 0 else 0.2 * second)
        assert host.tick(2.0 + second) is None
    assert {record.what for record in logs.records} == {"traffic"}
    record = host.tick(4.5, last=True)
    assert record is not None
    assert plain(record) == {
        "what": "host",
        "at": 4.5,
        "busy": [0.5, 0.5, 0.5],
        "pressure": [0.2, 0.2, 0.4],
        "server": [0.25, 0.25, 0.25],
        "throttled": [0.75, 0.75, 0.75],
        "short": [False, False, False],
        "step": 1.0,
    }
    assert host.tick(5.0, last=True) is None


def test_ten_seconds_of_load_are_a_record() -> None:
    load = Load()
    host = HostLog(load, (), EmulatedClock(4.0))
    load.busy, load.pressure = [0.1] * 10, [None] * 10
    assert host.tick(10.0) is None  # a report on the last second may still come
    load.busy.append(1.0)
    load.pressure.append(None)
    record = host.tick(10.25)
    assert record is not None
    facts = {"busy": [0.1] * 10, "short": [False] * 10, "step": 0.25}
    assert plain(record) == {"what": "host", "at": 10.0, **facts}
    assert host.tick(10.3) is None
    rest = host.tick(10.3, last=True)
    assert rest is not None and plain(rest)["short"] == [True]


@pytest.mark.parametrize(
    "report",
    [
        RecordReport(Raw(b"7")),
        RecordReport(Raw(b'{"what":"stop","at":1.0,"reason":"time"}')),
        RecordReport(Raw(b'{"what":"plan","at":1.0,"node":"far","kind":3}')),
        QuotaReport(True, 1),
        DelayReport(Delay()),
        DrawnReport("slow", "throttle", "unthrottle", None, {"factor": 0.5}),
    ],
    ids=lambda report: report.what,
)
def test_a_report_that_is_none_of_its_node_is_text(logs: Logs, report: NodeReport) -> None:
    written: Any = logs
    said: Any = SimpleNamespace(said=lambda node, text: None)
    reports = Reports(said, written, Onlooker(), Survivors(1, ()))
    reports.begin(100.0)
    reports.hear(Said("far", "the line", report, 101.0))
    assert (logs.records, logs.texts) == ([], ["the line"])
