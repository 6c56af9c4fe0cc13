"""What a person sees of a run while it goes."""

import io

import pytest
from rich.console import Console

from emulator.cli.watching.progress import Progress, amount
from emulator.cli.watching.run_views import LiveRunView, Pace, PlainRunView, describe_record
from emulator.log.records import Record
from emulator.scenario import Timed
from emulator.world.verbs import Action
from tests.fakes.plain_records import PlainRecord, full, plain
from tests.fakes.runs import handmade_run

PUSH = {"values": 800, "indices": 100, "headers": 70, "framing": 30}
TIMELINE = (
    Timed(15.0, Action("kill", "a", "crash")),
    Timed(25.0, Action("start", "a", "crash")),
)


def progress() -> Progress:
    return Progress(("a", "b"), TIMELINE, goal=100)


def update(at: float, number: int) -> Record:
    return full({"at": at, "what": "update", "node": "a", "updates": number, **PUSH})


def act(at: float, what: str, node: str, planned: float) -> Record:
    facts = {"node": node, "fault": "crash", "begins": what in ("kill", "sever")}
    return full({"at": at, "what": what, **facts, "planned": planned})


# -- progress --------------------------------------------------------------------------------------


def test_it_counts_what_is_pushed() -> None:
    item = progress()
    for number in range(1, 11):
        item.take(update(number / 10, number))
    item.take(full({"at": 1.0, "what": "evaluation", "updates": 10, "accuracy": 0.5}))
    item.take(full({"at": 1.0, "what": "refused", "node": "a", "reason": "lies"}))
    item.beat(1.0)
    assert (item.updates, item.pushed, item.accuracy, item.refused) == (10, 10_000, 0.5, 1)


def test_its_accuracy_is_that_of_the_newest_model() -> None:
    item = progress()
    item.take(full({"at": 9.0, "what": "evaluation", "updates": 900, "accuracy": 0.9}))
    item.take(
        full({"at": 4.0, "what": "evaluation", "updates": 400, "accuracy": 0.5, "scored": 9.5})
    )
    assert item.accuracy == 0.9


def test_it_knows_its_speed_of_late() -> None:
    item = progress()
    assert item.speed == 0
    for number in range(1, 101):
        item.take(update(number / 10, number))
    item.beat(10.0)
    assert item.speed == pytest.approx(10, rel=0.05)
    item.beat(20.0)
    assert item.speed == 0


@pytest.mark.parametrize(
    "goal, limit, share",
    [(None, None, None), (100, None, 0.4), (None, 50.0, 0.6), (100, 50.0, 0.6), (10, None, 1.0)],
)
def test_it_knows_how_much_is_done(
    goal: int | None, limit: float | None, share: float | None
) -> None:
    item = Progress(("a", "b"), TIMELINE, goal, limit)
    item.take(update(30.0, 40))
    item.beat(30.0)
    assert item.share == share


@pytest.mark.slow
def test_what_it_keeps_does_not_grow() -> None:
    item = progress()
    for number in range(10_000):
        item.take(update(number, number))
        item.beat(number)
    assert item.speed == 1.0
    assert len(item._beats) < 10


def test_it_knows_who_is_up() -> None:
    item, seen = progress(), []
    for what, node in [
        ("kill", "a"),
        ("sever", "a"),
        ("sever", "b"),
        ("boot", "a"),
        ("mend", "a"),
        ("mend", "b"),
        ("exit", "b"),
    ]:
        ended = full({"at": 1.0, "what": what, "node": node})
        item.take(ended if what == "exit" else act(1.0, what, node, 1.0))
        seen.append(item.up)
    assert seen == [1, 1, 0, 0, 1, 2, 1]
    item.take(full({"at": 1.0, "what": "exit", "node": "evaluator"}))
    assert item.up == 1
    item.take(full({"at": 2.0, "what": "hello", "node": "b", "incarnation": 1}))
    assert item.up == 2


def test_it_knows_what_comes_next() -> None:
    item, seen = progress(), []
    for now in (0.0, 15.0, 25.0):
        item.beat(now)
        seen.append(item.next_fault)
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

CUTS = {"pull": [(1, 2), (3, 3)], "push": [(3, 3), (2, 2), (1, 1)]}


@pytest.mark.parametrize(
    "record, line",
    [
        ({"at": 0, "what": "start", "devices": 1}, "0.00 s  start: 1 device has said hello"),
        ({"at": 0, "what": "start", "devices": 2}, "0.00 s  start: all 2 devices have said hello"),
        (
            {"at": 12.35, **EVALUATION},
            "12.35 s  accuracy 91.11% after 600 updates, 557.7 kB pushed",
        ),
        (
            {"at": 12.35, "scored": 14.1, **EVALUATION},
            "12.35 s  accuracy 91.11% after 600 updates, 557.7 kB pushed, scored at 14.10 s",
        ),
        (
            {"at": 9, "what": "unmeasured", "versions": list(range(200, 2200, 200))},
            "9.00 s  due, but not measured: the models after 200, 400, 600, 800, 1000, 1200, "
            "1400, 1600 … updates",
        ),
        (plain(act(15.03, "kill", "a", 15.0)), "15.03 s  kill a (crash, planned for 15.00 s)"),
        ({"at": 24.4, "what": "stop", "reason": "updates"}, "24.40 s  stop: updates"),
        (
            {"at": 1, "what": "stop", "reason": "failed", "detail": "no b"},
            "1.00 s  stop: failed (no b)",
        ),
        (
            {"at": 3, "what": "exit", "node": "a", "code": -9, "reason": "killed"},
            "3.00 s  a ended unasked: killed",
        ),
        (
            {"at": 3, "what": "recovered", "version": 199, "lost": 1796, "zero": 7.0},
            "3.00 s  the server goes on from version 199, 1,796 updates lost",
        ),
        (
            {"at": 3, "what": "recovered", "version": 1995, "lost": 1, "zero": 7.0},
            "3.00 s  the server goes on from version 1,995, 1 update lost",
        ),
        (
            {"at": 3, "what": "recovered", "version": 1995, "lost": 0, "zero": 7.0},
            "3.00 s  the server goes on from version 1,995",
        ),
        ({"at": 3, "what": "refused", "node": "a", "reason": "lies"}, "3.00 s  refused a: lies"),
        (
            {"at": 3, "what": "refused", "node": "a", "reason": "lies", "count": 8},
            "3.00 s  refused a: lies (8 times)",
        ),
        (
            {"at": 3, "what": "unsent", "node": "a", "message": "model 7", "bytes": 40},
            "3.00 s  model 7 not sent: a is out of reach",
        ),
        (
            {"at": 3, "what": "unsent", "node": "a", "message": "model", "bytes": 4, "segments": 2},
            "3.00 s  model in 2 segments not sent: a is out of reach",
        ),
        (
            {"at": -0.5, "what": "hello", "node": "a", "incarnation": 0},
            "-0.50 s  hello a incarnation=0",
        ),
        (
            {"at": -0.004, "what": "hello", "node": "a", "incarnation": 0},
            "0.00 s  hello a incarnation=0",
        ),
        (
            {"at": 9, "what": "diverged", "node": "a", "version": 4},
            "9.00 s  diverged a version=4",
        ),
        (
            {"at": 1, "what": "traffic", "node": "a", "rx": 12_345_678_901, "tx": 0},
            "1.00 s  traffic a rx=12345678901 tx=0",
        ),
        ({"at": 9, "what": "checkpoint", "version": 4}, "9.00 s  checkpoint version=4"),
        (
            {"at": 4, "what": "plan", "node": "a", "iteration": 51, "kind": "dynacomm", **CUTS}
            | {"t_forward": 9e-3, "t_backward": 0.014, "t_iteration": 0.0261234},
            "4.00 s  plan a: dynacomm from iteration 51, pull 1-2|3, push 3|2|1, predicted "
            "forward 9 ms, backward 14 ms, iteration 26.12 ms",
        ),
        (
            {"at": 4, "what": "iteration", "node": "a", "iteration": 50, "iterations": 49}
            | {"t_forward": 9e-3, "t_backward": 0.014, "t_iteration": 0.0261, **CUTS}
            | {f"predicted_{phase}": 1e-3 for phase in ("forward", "backward", "iteration")},
            "4.00 s  iterations 2 to 50 of a, median (predicted): forward 9 ms (1 ms), "
            "backward 14 ms (1 ms), iteration 26.1 ms (1 ms)",
        ),
    ],
)
def test_a_record_as_a_line(record: PlainRecord, line: str) -> None:
    assert describe_record(full(record)).lstrip() == line


def test_an_evaluation_shows_both_directions_where_the_run_was_seen_from_its_begin() -> None:
    line = "accuracy 50.00% after 1 updates, 1.0 kB pushed"
    records = [
        full({"at": 0, "what": "pull", "node": "a", "version": 0, "bytes": 4000}),
        full({"at": 0, "what": "pull", "node": "evaluator", "version": 0, "bytes": 70_000}),
        update(1.0, 1),
        full({"at": 1.1, "what": "pull", "node": "a", "version": 1, "bytes": 900}),
    ]
    score = {"at": 1.0, "what": "evaluation", "updates": 1, "version": 1, "accuracy": 0.5}
    evaluation = full({**score, "push_bytes": 1000, "scored": 2.0})
    for begin, ways in (([], ""), ([full({"at": 0, "what": "start", "devices": 2})], "4.0 5.0")):
        seen = progress()
        for record in (*begin, *records):
            seen.take(record)
        wanted = ", {} kB pulled, {} kB both".format(*ways.split()) if ways else ""
        assert f"{line}{wanted}, scored" in describe_record(evaluation, seen.before(evaluation))


def test_a_measured_time_is_shown_without_noise() -> None:
    record = full(handmade_run.update(1.0, compute=0.1 + 0.2, loss=2.302585124969482))
    assert " compute=0.3 " in describe_record(record) + " "
    assert " loss=2.30259 " in describe_record(record)


def test_the_first_of_many_segments_are_named() -> None:
    layers = [(layer, layer) for layer in range(1, 10)]
    plan = full({"at": 0, "what": "plan", "pull": layers, "push": layers[::-1][:6]})
    line = describe_record(plan)
    assert "pull 1|2|3|4|5|6|… (9 segments), push 9|8|7|6|5|4, " in line


class Wall:
    """A clock on the wall that a test moves by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_where_there_is_no_terminal() -> None:
    out, wall = io.StringIO(), Wall()
    with PlainRunView(progress(), Console(file=out, width=120), every=10.0, clock=wall) as view:
        view.progress("network")
        view.progress("containers 1/3")
        view.progress("containers 2/3")
        wall.now += 60
        view.beat(0.0)
        view.record(full({"at": 0, "what": "start", "devices": 2}))
        view.record(full({"at": 0.1, "what": "pull", "node": "a", "version": 0, "bytes": 9}))
        view.record(update(0.5, 1))
        view.beat(1.0)
        view.record(act(15.0, "kill", "a", 15.0))
        wall.now += 15
        view.beat(15.0)
        wall.now += 1
        view.beat(16.0)
        view.record(full({"at": 17, "what": "stop", "reason": "time"}))
    assert out.getvalue() == (
        "network ...\n"
        "containers 1/3 ...\n"
        "    0.00 s  start: all 2 devices have said hello\n"
        "   15.00 s  kill a (crash, planned for 15.00 s)\n"
        "   15.00 s  1/100 updates, 0.0 updates/s, 1/2 devices up, 1.0 kB pushed, 9 B pulled, "
        "1.0 kB both, 1% done, 25 min left\n"
        "   17.00 s  stop: time\n"
    )


def test_a_step_that_takes_long_counts_and_tells_the_time() -> None:
    out, wall = io.StringIO(), Wall()
    view = PlainRunView(progress(), Console(file=out, width=120), every=10.0, clock=wall)
    for second in range(25):
        view.progress(f"waiting for {4 - second // 8} of 4 nodes to say hello")
        wall.now += 1
    assert out.getvalue() == (
        "waiting for 4 of 4 nodes to say hello ...\n"
        "waiting for 3 of 4 nodes to say hello ... 10 s\n"
        "waiting for 2 of 4 nodes to say hello ... 20 s\n"
    )


def test_the_panel_counts_the_time_of_a_step() -> None:
    out, wall = io.StringIO(), Wall()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    with LiveRunView(progress(), console, "flaky", clock=wall) as view:
        view.progress("waiting for 4 of 4 nodes to say hello")
        wall.now += 12
        view.progress("waiting for 1 of 4 nodes to say hello")
    assert "waiting for 1 of 4 nodes to say hello ... 12 s" in out.getvalue()


def test_how_it_goes_is_told_by_the_clock_on_the_wall() -> None:
    """Virtual time plays hours in a second, or a second in hours."""
    out, wall = io.StringIO(), Wall()
    view = PlainRunView(progress(), Console(file=out, width=120), every=10.0, clock=wall)
    view.record(full({"at": 0, "what": "start", "devices": 2}))
    for hour in range(100):
        view.beat(3600.0 * hour)
    assert out.getvalue().count("updates/s") == 0
    for _ in range(5):
        wall.now += 10
        view.beat(360_000.0)
    assert out.getvalue().count("updates/s") == 5


def test_more_faults_than_anyone_can_read() -> None:
    out, wall = io.StringIO(), Wall()
    view = PlainRunView(progress(), Console(file=out, width=120), clock=wall)
    for number in range(1000):
        view.record(act(number, "kill", "a", number))
    wall.now += 1
    view.record(act(1000, "boot", "a", 1000))
    for number in range(100):
        view.record(act(number, "kill", "a", number))
    view.record(full({"at": 1101, "what": "stop", "reason": "time"}))
    lines = out.getvalue().splitlines()
    assert len(lines) == 20 + 1 + 20 + 1 + 1
    assert lines[20].strip() == "...  980 more lines are in the log"
    assert "boot" in lines[21]
    assert lines[-2:] == [
        "       ...  81 more lines are in the log",
        " 1101.00 s  stop: time",
    ]


@pytest.mark.parametrize(
    "share, elapsed, words",
    [
        (None, 100, ""),
        (0.0, 100, ""),
        (0.5, 40, "50% done, 40 s left"),
        (0.25, 100, "25% done, 5 min left"),
        (0.01, 3600, "1% done, 99 h 0 min left"),
        (1.0, 3600, "100% done"),
    ],
)
def test_how_long_it_still_takes(share: float | None, elapsed: float, words: str) -> None:
    wall = Wall()
    pace = Pace(wall)
    assert pace.words(share) == ""  # it has not begun
    pace.begin()
    wall.now += elapsed
    pace.begin()
    assert pace.words(share) == words


def test_the_panel_on_a_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    with LiveRunView(progress(), console, "flaky") as view:
        view.progress("containers 1/3")
        view.record(full({"at": 0, "what": "start", "devices": 2}))
        view.record(update(0.5, 1))
        view.record(full({"at": 0.6, **EVALUATION}))
        view.record(act(15.0, "kill", "a", 15.0))
        view.beat(15.0)
    shown = out.getvalue()
    for words in ("flaky", "1 (down: a)", "91.11%", "1 of 100", "1.0 kB", "start a at 25 s"):
        assert words in shown


def test_the_panel_shows_what_people_wrote_as_they_wrote_it() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    with LiveRunView(progress(), console, "[red]flaky :pizza:") as view:
        view.progress("shards into [lab]/runs")
    assert "[red]flaky :pizza:" in out.getvalue()
    assert "shards into [lab]/runs ..." in out.getvalue()
