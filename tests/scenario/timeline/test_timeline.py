"""Timelines: which faults are planned, for whom and when."""

import json
from typing import Any

import pytest
from hypothesis import given, settings

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, load, loads
from emulator.scenario.timeline.compiled import Timed, server_back, timeline, to_jsonl
from emulator.world.faults import FAULTS
from emulator.world.verbs import Action, row
from tests.fakes.drawn_scenarios import scenarios
from tests.fakes.small_scenario import FLAKY, SCENARIOS, small


def planned(text: str, **changes: str) -> list[tuple[float, str, str]]:
    """Return time, verb and node of the actions of a small world with the faults in `text`."""
    changed = [("stop:", f"faults: {text}\nstop:"), *changes.items()]
    return [(t.at, t.action.verb, t.action.node) for t in timeline(small(*changed))]


def test_an_aimed_fault_is_done_and_undone_in_its_time() -> None:
    assert timeline(load(FLAKY, ["devices[1].failures=[]"])) == [
        Timed(60, Action("sever", "adsl-0", "partition")),
        Timed(60, Action("sever", "adsl-1", "partition")),
        Timed(80, Action("mend", "adsl-0", "partition")),
        Timed(80, Action("mend", "adsl-1", "partition")),
    ]


def test_a_groups_name_strikes_all_of_its_devices_and_no_end_is_for_good() -> None:
    assert planned("[{kind: crash, nodes: [pair], at: 5s}]") == [
        (5, "kill", "pair-0"),
        (5, "kill", "pair-1"),
    ]


def test_a_node_killed_twice_is_down_until_the_later_end() -> None:
    crash = "{kind: crash, nodes: [one], at: %s, lasts: %s}"
    both = ", ".join(crash % times for times in [("10s", "20s"), ("15s", "5s")])
    assert planned(f"[{both}]") == [(10, "kill", "one"), (30, "start", "one")]
    touching = ", ".join(crash % times for times in [("10s", "5s"), ("15s", "5s"), ("30s", "0s")])
    assert planned(f"[{touching}]") == [
        (10, "kill", "one"),
        (20, "start", "one"),
        (30, "kill", "one"),  # to boot at once is a fault too
        (30, "start", "one"),
    ]


def test_kinds_do_not_mix_and_ties_follow_the_file_and_then_the_verbs() -> None:
    text = (
        "[{kind: partition, nodes: [pair-1, one], at: 1s, lasts: 4s},"
        " {kind: crash, nodes: [one], at: 1s, lasts: 4s}]"
    )
    assert planned(text) == [
        (1, "kill", "one"),
        (1, "sever", "one"),
        (1, "sever", "pair-1"),
        (5, "start", "one"),
        (5, "mend", "one"),
        (5, "mend", "pair-1"),
    ]


def test_ends_at_one_time_follow_the_file_whichever_began_first() -> None:
    text = (
        "[{kind: crash, nodes: [pair-0], at: 1s, lasts: 4s},"
        " {kind: crash, nodes: [one], at: 3s, lasts: 2s}]"
    )
    assert planned(text)[2:] == [(5, "start", "one"), (5, "start", "pair-0")]


def test_nothing_is_planned_for_after_the_end() -> None:
    text = (
        "[{kind: crash, nodes: [one], at: 5s, lasts: 60s}, {kind: crash, nodes: [pair], at: 60s}]"
    )
    assert planned(text, **{"{updates: 10}": "{time: 1min}"}) == [(5, "kill", "one")]


def recurring(scenario: Scenario, node: str) -> list[Timed]:
    return [timed for timed in timeline(scenario) if timed.action.node == node]


def test_another_device_or_profile_changes_nobody_elses_failures() -> None:
    alone = load(FLAKY, ["faults=[]"])
    more = load(FLAKY, ["faults=[]", "devices[0].count=9", "devices[1].count=9"])
    other = load(FLAKY, ["faults=[]", "devices[1].failures=[commuter-phone, flaky-home]"])
    assert recurring(alone, "adsl-2")
    assert recurring(alone, "adsl-2") == recurring(more, "adsl-2")
    crashes = [
        [timed for timed in recurring(scenario, "adsl-2") if timed.action.fault == "crash"]
        for scenario in (alone, other)
    ]
    assert crashes[0] == crashes[1] != []


def test_the_seed_decides_and_devices_differ() -> None:
    first, again, other = (load(FLAKY, [f"seed={seed}", "faults=[]"]) for seed in (1, 1, 2))
    assert to_jsonl(timeline(first)) == to_jsonl(timeline(again))
    assert to_jsonl(timeline(first)) != to_jsonl(timeline(other))
    times = [{timed.at for timed in recurring(first, name)} for name in ("adsl-0", "adsl-1")]
    assert not times[0] & times[1]


def test_a_timeline_is_these_very_bytes() -> None:
    """Golden: a change here changes what every seed means."""
    scenario = load(FLAKY, ["stop.time=110s"])
    assert to_jsonl(timeline(scenario)) == (
        '{"at": 60.0, "verb": "sever", "node": "adsl-0", "fault": "partition", "begins": true}\n'
        '{"at": 60.0, "verb": "sever", "node": "adsl-1", "fault": "partition", "begins": true}\n'
        '{"at": 80.0, "verb": "mend", "node": "adsl-0", "fault": "partition", "begins": false}\n'
        '{"at": 80.0, "verb": "mend", "node": "adsl-1", "fault": "partition", "begins": false}\n'
        '{"at": 105.321097, "verb": "sever", "node": "adsl-2", "fault": "partition", '
        '"begins": true}\n'
    )


FLAPPING = "{kind: flap, nodes: [one], at: 2s, lasts: %s, outage: %s, uptime: %s}"


def test_a_flaps_timeline_is_these_very_bytes() -> None:
    """Golden: cuts by law, the last one as long as the fault."""
    flap = FLAPPING % ("9s", "{uniform: [1s, 2s]}", "{exponential: 2s}")
    scenario = small(("stop:", f"faults: [{flap}]\nstop:"))
    assert to_jsonl(timeline(scenario)) == "".join(
        f'{{"at": {at}, "verb": "{verb}", "node": "one", "fault": "flap", "begins": {begins}}}\n'
        for cut, mended in [
            (2.0, 3.153668),
            (3.169053, 4.335584),
            (6.210481, 7.795482),
            (8.892718, 10.531016),
        ]
        for at, verb, begins in ((cut, "sever", "true"), (mended, "mend", "false"))
    )


def test_a_flap_of_a_profile_strikes_within_each_of_its_intervals() -> None:
    flap = "{kind: flap, every: 10s, lasts: 5s, outage: 1s, uptime: 2s}"
    failures = f"failures: [{{name: wifi, faults: [{flap}]}}]"
    scenario = small(("{updates: 10}", "{time: 30s}"), ("count: 2", failures))
    cuts = [timed.at for timed in timeline(scenario) if timed.action.verb == "sever"]
    assert cuts == [10, 13, 25, 28]
    assert [timed.at for timed in timeline(scenario) if not timed.action.begins] == [11, 14, 26, 29]


def test_a_flap_and_a_partition_that_overlap_are_one_cut_of_the_kind_that_began() -> None:
    flap = FLAPPING % ("3s", "1s", "1s")  # cuts at 2 to 3 s, and at 4 to 5 s
    partition = "{kind: partition, nodes: [one], at: 2500ms, lasts: 2s}"
    scenario = small(("stop:", f"faults: [{flap}, {partition}]\nstop:"))
    assert [(t.at, t.action.verb, t.action.fault) for t in timeline(scenario)] == [
        (2, "sever", "flap"),
        (5, "mend", "flap"),
    ]


@pytest.mark.parametrize(("lasts", "laws"), [("lasts: 1h, ", ("1us", "1us")), ("", ("0s", "0s"))])
def test_a_flap_beyond_all_measure_is_refused(lasts: str, laws: tuple[str, str]) -> None:
    flap = f"{{kind: flap, nodes: [one], at: 2s, {lasts}outage: {laws[0]}, uptime: {laws[1]}}}"
    with pytest.raises(ScenarioError, match=r"faults\[0\]: one: more than 10,000 failures"):
        timeline(small(("stop:", f"faults: [{flap}]\nstop:")))


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(written=scenarios())
def test_on_every_node_a_kinds_verbs_alternate_and_times_ascend(written: dict[str, Any]) -> None:
    try:
        timed = timeline(loads(json.dumps(written), folder=SCENARIOS))
    except ScenarioError as error:
        assert "too small" in str(error) or "more than 10,000 failures" in str(error)
        return
    assert [item.at for item in timed] == sorted(item.at for item in timed)
    held: set[tuple[str, str]] = set()
    for item in timed:
        key = (item.action.node, row(item.action.verb).name)
        assert item.action.begins == (key not in held)
        assert item.action.fault in FAULTS
        held ^= {key}


def test_a_device_that_fails_beyond_all_measure_is_refused() -> None:
    failures = "failures: [{name: mine, faults: [{kind: crash, every: 1ms, lasts: 1ms}]}]"
    place = r"scenario:9: devices\[1\]\.failures\[0\]\.faults\[0\]: pair: more than 10,000 failures"
    with pytest.raises(ScenarioError, match=place):
        small(("count: 2", failures))


def test_a_device_that_fails_too_often_where_the_first_does_not_is_refused_too() -> None:
    # 9,971 times a day on average, with a deviation of 58
    pause = "{kind: pause, nodes: [pair], every: {uniform: [0s, 17.33s]}, lasts: 0s}"
    scenario = small(("count: 2", "count: 9"), ("stop:", f"faults: [{pause}]\nstop:"))
    with pytest.raises(ScenarioError, match=r"faults\[0\]: pair-[1-8]: more than 10,000 failures"):
        timeline(scenario)


def test_per_iteration_faults_are_the_devices_to_draw() -> None:
    scenario = small(("count: 2", "count: 2, failures: [overheating-pi]"))
    assert timeline(scenario) == []
    item, pair, _ = scenario.nodes
    assert item.hazards == ()
    (hazard,) = pair.hazards
    verbs = {"begin": "kill", "end": "start", "setting": None}
    law = {"uniform": [10.0, 30.0]}
    assert hazard == {"kind": "crash", **verbs, "per_iteration": 0.001, "lasts": law}
    assert json.loads(json.dumps(hazard)) == hazard


@pytest.mark.parametrize(
    ("fault", "begin", "end"),
    [
        ("kind: slow, factor: 50%", "throttle", "unthrottle"),
        ("kind: byzantine, lie: noise", "falsify", "reform"),
        ("kind: straggler, delay: 1s", "lag", "catch_up"),
        ("kind: overheat, heats: 1min, cools: 2min", "heat", "cool"),
        ("kind: crash", "kill", "start"),
    ],
)
def test_a_fault_without_a_duration_begins_before_it_ends(fault, begin, end) -> None:
    both = f"[{{{fault}, nodes: [one], at: 3s, lasts: 0s}}]"
    assert planned(both) == [(3, begin, "one"), (3, end, "one")]


def test_a_fault_takes_over_behind_the_end_of_another_setting() -> None:
    slow = "{kind: slow, factor: %s, nodes: [one], at: %s, lasts: 2s}"
    assert planned(f"[{slow % ('50%', '1s')}, {slow % ('20%', '3s')}]") == [
        (1, "throttle", "one"),
        (3, "unthrottle", "one"),
        (3, "throttle", "one"),
        (5, "unthrottle", "one"),
    ]


def test_the_server_is_back_at_the_end_of_the_run_which_it_alone_can_end() -> None:
    durable = {"stop:": "server: {durability: update}\nstop:", "updates: 10": "time: 20s"}
    crash = "[{kind: server-crash, at: 7s, lasts: 1h}, {kind: crash, nodes: [one], at: 8s}]"
    assert planned(crash, **durable) == [
        (7, "kill", "server"),
        (8, "kill", "one"),
        (20, "start", "server"),
    ]
    down, back = Timed(7, Action("kill", "server", "crash")), Action("start", "server", "crash")
    assert server_back([down], 9) == [down, Timed(9, back)]
    assert server_back([down, Timed(8, back)], 9) == [down, Timed(8, back)]
    assert server_back([down, Timed(10, back)], 9) == [down, Timed(9, back)]
