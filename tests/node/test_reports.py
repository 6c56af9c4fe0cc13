"""Reports of parts and supervisors: each survives its line, and no other line is taken for one."""

import json
from typing import Any, get_args

import pytest
from msgspec import Raw
from msgspec.structs import fields

from emulator.log.records.fidelity_records import LinkRecord
from emulator.node import reports
from emulator.node.config import Delay
from emulator.node.reports import (
    BatteryReport,
    BegunReport,
    DelayReport,
    DrawnReport,
    ExitReport,
    FailedReport,
    ForkReport,
    LinkChangeReport,
    LinkReport,
    LostReport,
    NodeReport,
    OverlapReport,
    PartReport,
    ProgramReport,
    QuotaReport,
    ReadyReport,
    RecordReport,
    Stamped,
    TrafficReport,
    VerbReport,
)

REPORTS: list[NodeReport] = [
    ReadyReport(),
    FailedReport("far: tc refused: refuse"),
    LostReport(),
    TrafficReport(1200, 1 << 40),
    TrafficReport(0, 0, [0.25, 0.0, 1.5]),
    LinkReport("up", 10.0),
    LinkReport("down", 9.5, 2.0, 8e6, requested_loss=0.1, packets=9, lost=1, behind="street"),
    LinkChangeReport(3, 0.002),
    DelayReport(Delay(0.2, 0.01, 0.0, 1e-6)),
    ExitReport(-9, "limit", returns=True),
    ExitReport(3),
    ForkReport(5, 6, 0),
    VerbReport("kill", "crash", 15.0),
    VerbReport("press", "memory", setting={"share": 0.75}),
    OverlapReport("flap", "sever", 90.0),
    OverlapReport("partition", "sever", planned=3.0),
    BatteryReport(0.05),
    QuotaReport(True, 7),
    ProgramReport("kill", 3, 0),
    DrawnReport("slow", "throttle", "unthrottle", None, {"factor": 0.5}),
    RecordReport(Raw(b'{"what":"plan","at":1.5}')),
]
FROM_PARTS: list[PartReport] = [
    BegunReport(1234.5),
    DrawnReport("crash", "kill", "start", 0.3),
    RecordReport(Raw(b'{"what":"plan","at":1.5}')),
]


def test_each_report_survives_its_line() -> None:
    assert {type(report) for report in REPORTS} == set(get_args(NodeReport))
    assert {type(report) for report in FROM_PARTS} == set(get_args(PartReport))
    for report in REPORTS:
        stamped = Stamped(101.7, report)
        assert reports.decode(reports.encode(stamped).decode()) == stamped
    for told in FROM_PARTS:
        assert reports.decode_part(reports.encode(told)) == told


def test_the_report_of_a_link_has_the_fields_of_its_record() -> None:
    own, record = fields(LinkReport), fields(LinkRecord)[2:]  # without time and node
    assert [(each.name, each.default) for each in own] == [
        (each.name, each.default) for each in record
    ]


def _line(**report: Any) -> str:
    return json.dumps({"now": 1.0, "report": report})


HOSTILE = [
    *("", "7", "null", "[]", "{}", "ready", '{"what": "ready"}', "\ufffd", "[" * 100_000),
    *('{"now": 1.0}', '{"now": 1.0, "report": {}}', '{"now": 1e999, "report": {"what": "ready"}}'),
    '{"now": NaN, "report": {"what": "ready"}}',
    '{"now": null, "report": {"what": "ready"}}',
    *(_line(what=what) for what in ("gone", "traffic", None, 3, ["ready"], {}, "Ready", "begun")),
    *(_line(what="traffic", rx=rx, tx=0) for rx in (-1, 1 << 63, 10**400, 0.5, "1", None)),
    *(_line(what="traffic", rx=0, tx=0, cpu=cpu) for cpu in ([], [1.0], [1.0] * 4, ["a", "b"])),
    *(_line(what="link", way=way, lasts=1.0) for way in ("", "upward", "up\n", 1)),
    _line(what="link", way="up", lasts=-1.0),
    _line(what="delay", delay={"delay": -0.1}),
    *(_line(what="exit", code=code) for code in (1 << 80, 256, "0", None)),
    _line(what="exit", code=1, cause="boredom"),
    *(_line(what="verb", verb=verb, fault="crash") for verb in ("fly", "", None, ["kill"])),
    _line(what="verb", verb="press", fault="memory", setting=[0.5]),
    _line(what="overlap", verb="fly", fault="crash"),
    _line(what="battery", charge=1.5),
    _line(what="quota", lifted="yes", press=1),
    _line(what="drawn", fault="f", begin="kill", end="mend", lasts=1.0),
    _line(what="drawn", fault="f", begin="start", end="kill", lasts=1.0),
    _line(what="drawn", fault="f", begin="throttle", end="unthrottle", lasts=1.0),
    _line(what="drawn", fault="f", begin="kill", end="start", lasts=-1.0),
    _line(what="failed", detail=3),
]


@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_a_line_that_is_no_report_is_text(line: str) -> None:
    assert reports.decode(line) is None


@pytest.mark.parametrize(
    "line", [b"", b"\xff", b'{"what": "begun"}', b'{"what": "failed", "detail": "no"}', b"{" * 9999]
)
def test_a_part_s_line_that_is_no_report_goes_to_the_log(
    line: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reports.decode_part(line) is None
    said = capsys.readouterr().err
    assert said.startswith("no report of a part (") and said.count("\n") == 1
