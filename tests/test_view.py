"""What a person sees of a run while it goes."""

import io

import pytest
from rich.console import Console

from emulator.actions import Action
from emulator.cli.progress import Progress, amount
from emulator.cli.view import LiveView, PlainView, describe
from emulator.runlog import Record
from emulator.scenario import Timed

PUSH = {"values": 800, "indices": 100, "headers": 70, "framing": 30}
TIMELINE = (
    Timed(15.0, Action("kill", "a", "crash")),
    Timed(25.0, Action("start", "a", "crash")),
)


def progress() -> Progress:
    return Progress(("a", "b"), TIMELINE, goal=100)


def update(at: float, number: int) -> Record:
    return {"at": at, "what": "update", "node": "a", "updates": number, **PUSH}


def act(at: float, what: str, node: str, planned: float) -> Record:
    return {"at": at, "what": what, "node": node, "fault": "crash", "planned": planned}


# -- progress --------------------------------------------------------------------------------------


def test_it_counts_what_is_pushed() -> None:
    one = progress()
    for number in range(1, 11):
        one.take(update(number / 10, number))
    one.take({"at": 1.0, "what": "evaluation", "accuracy": 0.5})
    one.take({"at": 1.0, "what": "refused", "node": "a", "reason": "lies"})
    one.beat(1.0)
    assert (one.updates, one.pushed, one.accuracy, one.refused) == (10, 10_000, 0.5, 1)


def test_it_knows_its_speed_of_late() -> None:
    one = progress()
    assert one.speed == 0
    for number in range(1, 101):
        one.take(update(number / 10, number))
    one.beat(10.0)
    assert one.speed == pytest.approx(10, rel=0.05)
    one.beat(20.0)
    assert one.speed == 0


def test_it_knows_who_is_up() -> None:
    one, seen = progress(), []
    for what, node in [
        ("kill", "a"),
        ("sever", "a"),
        ("sever", "b"),
        ("boot", "a"),
        ("mend", "a"),
        ("mend", "b"),
        ("exit", "b"),
    ]:
        one.take({"at": 1.0, "what": what, "node": node, "reason": "", "code": 1})
        seen.append(one.up)
    assert seen == [1, 1, 0, 0, 1, 2, 1]


def test_it_knows_what_comes_next() -> None:
    one, seen = progress(), []
    for now in (0.0, 15.0, 25.0):
        one.beat(now)
        seen.append(one.next_fault)
    assert seen == ["kill a at 15 s", "start a at 25 s", "none"]


@pytest.mark.parametrize(
    "size, text",
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (928_000, "928.0 kB"),
        (68_900_000, "68.9 MB"),
        (5e12, "5000.0 GB"),
    ],
)
def test_amounts(size: float, text: str) -> None:
    assert amount(size) == text


# -- lines -----------------------------------------------------------------------------------------

EVALUATION = {"what": "evaluation", "accuracy": 0.9111, "updates": 600, "push_bytes": 557_700}


@pytest.mark.parametrize(
    "record, line",
    [
        ({"at": 0, "what": "start", "devices": 2}, "0.00 s  start: all 2 devices have said hello"),
        (
            {"at": 12.35, **EVALUATION},
            "12.35 s  accuracy 91.11% after 600 updates, 557.7 kB pushed",
        ),
        (act(15.03, "kill", "a", 15.0), "15.03 s  kill a (crash, planned for 15.00 s)"),
        ({"at": 24.4, "what": "stop", "reason": "updates"}, "24.40 s  stop: updates"),
        (
            {"at": 1, "what": "stop", "reason": "failed", "detail": "no b"},
            "1.00 s  stop: failed (no b)",
        ),
        (
            {"at": 3, "what": "exit", "node": "a", "code": -9, "reason": "killed"},
            "3.00 s  a ended unasked: killed",
        ),
        ({"at": 3, "what": "refused", "node": "a", "reason": "lies"}, "3.00 s  refused a: lies"),
        (
            {"at": -0.5, "what": "hello", "node": "a", "incarnation": 0},
            "-0.50 s  hello a incarnation=0",
        ),
        ({"at": 9, "what": "checkpoint", "version": 4}, "9.00 s  checkpoint version=4"),
    ],
)
def test_a_record_as_a_line(record: Record, line: str) -> None:
    assert describe(record).lstrip() == line


def test_plain_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    with PlainView(progress(), Console(file=out, width=120), every=10.0) as view:
        view.progress("network")
        view.progress("containers 1/3")
        view.progress("containers 2/3")
        view.record({"at": 0, "what": "start", "devices": 2})
        view.record({"at": 0.1, "what": "pull", "node": "a", "version": 0, "bytes": 9})
        view.record(update(0.5, 1))
        view.beat(1.0)
        view.record(act(15.0, "kill", "a", 15.0))
        view.beat(15.0)
        view.beat(16.0)
        view.record({"at": 17, "what": "stop", "reason": "time"})
    assert out.getvalue() == (
        "network ...\n"
        "containers 1/3 ...\n"
        "    0.00 s  start: all 2 devices have said hello\n"
        "   15.00 s  kill a (crash, planned for 15.00 s)\n"
        "   15.00 s  1/100 updates, 0.0 updates/s, 1/2 devices up, 1.0 kB pushed\n"
        "   17.00 s  stop: time\n"
    )


def test_the_panel_on_a_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    with LiveView(progress(), console, "flaky") as view:
        view.progress("containers 1/3")
        view.record({"at": 0, "what": "start", "devices": 2})
        view.record(update(0.5, 1))
        view.record({"at": 0.6, **EVALUATION})
        view.record(act(15.0, "kill", "a", 15.0))
        view.beat(15.0)
    shown = out.getvalue()
    for words in ("flaky", "1 (down: a)", "91.11%", "1 of 100", "1.0 kB", "start a at 25 s"):
        assert words in shown
