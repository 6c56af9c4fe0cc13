"""Trace files: read and checked when the scenario is loaded, and inlined when it is resolved."""

import json
import time
from pathlib import Path

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, dump, load, loads
from emulator.scenario.timeline.compiled import timeline
from emulator.scenario.timeline.fault_plan import ANEW, availability_rows

SCENARIO = """
name: traced
training: {{dataset: digits, model: digits-mlp, algorithm: adacomp}}
stop: {{time: {time}}}
devices: [{devices}]
faults: [{faults}]
"""
AIMED = "{kind: availability, nodes: all, trace: traces/home.csv, start: 0s}"
HOME = "seconds,state  # of one home\n0,on\n10.5,off\n\n30,on\n60,end\n"
FEDSCALE = {
    "7": {
        "duration": 211625,
        "inactive": [30, 50],
        "finish_time": 60,
        "active": [10, 40],
        "model": "CPH1801",
    },
    "12": {"active": [0], "inactive": [20, 90], "finish_time": 60},
}


def world(
    folder: Path, faults: str = AIMED, devices: str = "{name: a}", time: str = "100s"
) -> Scenario:
    text = SCENARIO.format(faults=faults, devices=devices, time=time)
    (folder / "scenario.yaml").write_text(text)
    return load(folder / "scenario.yaml")


def write(folder: Path, name: str, text: str) -> None:
    (folder / "traces").mkdir(exist_ok=True)
    (folder / "traces" / name).write_text(text)


def actions(scenario: Scenario) -> list[tuple[float, str]]:
    return [(timed.at, timed.action.verb) for timed in timeline(scenario)]


def test_a_csv_trace_is_played(tmp_path: Path) -> None:
    write(tmp_path, "home.csv", HOME)
    expected = [(10.5, "leave"), (30, "join"), (70.5, "leave"), (90, "join")]
    assert actions(world(tmp_path)) == expected


@pytest.mark.parametrize("kind", ["json", "yaml"])
def test_fedscales_lists_are_played(tmp_path: Path, kind: str) -> None:
    write(tmp_path, f"phones.{kind}", json.dumps(FEDSCALE))
    faults = "{kind: availability, nodes: all, trace: traces/phones.%s, start: 0s, by: crash}"
    scenario = world(tmp_path, faults % kind, "{name: a, count: 20}", "59s")
    assert scenario.faults[0].trace == (
        "on 10, off 30, on 40, off 50, end 60",
        "on 0, off 20, end 60",
    )
    timed = timeline(scenario)
    played = {
        tuple((t.at, t.action.verb) for t in timed if t.action.node == f"a-{n}") for n in range(20)
    }
    first = [(0, "kill"), (10, "start"), (30, "kill"), (40, "start"), (50, "kill")]
    assert played == {tuple(first), ((20, "kill"),)}


@pytest.mark.parametrize("text", [HOME.replace("end", "end,,"), HOME.replace("off", '"off",')])
def test_a_csv_trace_may_be_padded_and_quoted(tmp_path: Path, text: str) -> None:
    write(tmp_path, "home.csv", text)
    assert actions(world(tmp_path))[:2] == [(10.5, "leave"), (30, "join")]


BY_NAME = {
    f"home-{number}": {"active": [0], "inactive": [100 * (number + 1)], "finish_time": 1000}
    for number in range(4)
}
DRAWN = "{kind: availability, nodes: all, trace: traces/named.json, start: 0s}"


@pytest.mark.parametrize("fault", [DRAWN, "{kind: availability, trace: named.json, start: 0s}"])
def test_traces_named_after_devices_are_theirs(tmp_path: Path, fault: str) -> None:
    """In a fault of the scenario, and in a failure profile."""
    write(tmp_path, "named.json", json.dumps(BY_NAME))
    if fault is DRAWN:
        scenario = world(tmp_path, fault, "{name: home, count: 4}", "900s")
    else:
        (tmp_path / "traces" / "nights.yaml").write_text(f"faults: [{fault}]")
        devices = "{name: home, count: 4, failures: [./traces/nights.yaml]}"
        scenario = world(tmp_path, "", devices, "900s")
    off = {timed.action.node: timed.at for timed in timeline(scenario) if timed.action.begins}
    assert off == {"home-0": 100, "home-1": 200, "home-2": 300, "home-3": 400}
    assert loads(dump(scenario)) == scenario
    rows = availability_rows(scenario)
    assert [(row.node, row.trace, row.start) for row in rows] == [
        (f"home-{number}", f"home-{number}", 0.0) for number in range(4)
    ]


NEARLY_100 = "{uniform: [100s, 100.000001s]}"


@pytest.mark.parametrize(
    ("times", "begin"),
    [
        ("", 0),
        (f"at: {NEARLY_100}, ", 100),
        (f"at: {NEARLY_100}, lasts: {{uniform: [1h, 2h]}}, ", 100),
        (f"at: {NEARLY_100}, together: true, ", 100),
        (f"every: {NEARLY_100}, ", 100),
    ],
)
def test_the_rows_name_the_traces_of_the_timeline(tmp_path: Path, times: str, begin: float) -> None:
    """The time off tells the trace by its length, and the begin by its place."""
    traces = [f"on 0, off 500, on {510 + 10 * number}, end 1000" for number in range(9)]
    fault = f"{{kind: availability, nodes: all, {times}trace: {traces}}}"
    scenario = world(tmp_path, fault, "{name: home, count: 5}", "3000s")
    rows, timed = availability_rows(scenario), timeline(scenario)
    assert len(rows) == 5
    for row in rows:
        own = [(each.at, each.action.begins) for each in timed if each.action.node == row.node]
        number = next(place for place, (at, off) in enumerate(own) if off and at > 1100)
        off, on = own[number][0], own[number + 1][0]
        assert row.trace == f"{round((on - off) / 10)} of 9"
        assert row.start is not None
        assert (off - begin + row.start) % 1000 == pytest.approx(500, abs=0.01)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ("every: 9s, lasts: 5s", {"a": ("a", None), "b": (ANEW, None)}),
        ("every: 9s, lasts: 5s, start: 3s", {"a": ("a", 3), "b": (ANEW, 3)}),
        ("every: 9s, lasts: 5s, together: true", {"a": (ANEW, None), "b": (ANEW, None)}),
        ("at: 2min", {}),
    ],
    ids=["drawn anew", "with a start", "together", "after the end"],
)
def test_the_rows_of_faults_that_recur_or_never_strike(
    tmp_path: Path, times: str, expected: dict[str, tuple[str, float | None]]
) -> None:
    traces = "['a: on 0, off 5, end 9', 'on 0, off 6, end 9', 'on 0, off 7, end 9']"
    fault = f"{{kind: availability, nodes: all, {times}, trace: {traces}}}"
    scenario = world(tmp_path, fault, "{name: a}, {name: b}")
    rows = availability_rows(scenario)
    assert {row.node: (row.trace, row.start) for row in rows} == expected


def test_devices_without_a_namesake_draw_the_traces_of_nobody(tmp_path: Path) -> None:
    others = {
        f"phone-{number}": {"active": [0], "inactive": [7], "finish_time": 50}
        for number in range(2)
    }
    home = {"home-1": BY_NAME["home-1"], "far": {"active": [5], "inactive": [9], "finish_time": 60}}
    write(tmp_path, "named.json", json.dumps({**others, **home}))
    devices = "{name: home, count: 2}, {name: cam}, {name: spare, count: 9}"
    scenario = world(tmp_path, DRAWN, devices)
    played = {row.node: row.trace for row in availability_rows(scenario)}
    assert played.pop("home-1") == "home-1"
    assert set(played.values()) == {"1 of 4", "2 of 4", "4 of 4"}
    # a trace that no device is named after has no name in the resolved scenario
    (fault,) = scenario.faults
    assert [text for text in fault.trace if ":" in text] == ["home-1: on 0, off 200, end 1000"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("devices", ["{name: home, count: 3}, {name: home-5}", "{name: home-5}"])
def test_a_device_may_be_named_like_a_number_of_a_group(tmp_path: Path, devices: str) -> None:
    write(tmp_path, "named.json", json.dumps({"home-5": BY_NAME["home-3"], **BY_NAME}))
    played = {row.node: row.trace for row in availability_rows(world(tmp_path, DRAWN, devices))}
    assert played["home-5"] == "home-5"


def test_every_device_draws_if_all_traces_belong_to_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        "named.json",
        json.dumps({"a": {"inactive": [5], "active": [0], "finish_time": 9}}),
    )
    scenario = world(tmp_path, DRAWN, "{name: a}, {name: b}")
    assert {row.node: row.trace for row in availability_rows(scenario)} == {"a": "a", "b": "1 of 1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [("home: on 0", "a step and an end at least"), ("home: x 0, end 5", "'x' is not on")],
)
def test_a_named_text_is_checked(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        world(tmp_path, f"{{kind: availability, nodes: all, trace: ['{text}']}}")


def test_a_mistake_in_a_trace_file_tells_which_fault_names_the_file(tmp_path: Path) -> None:
    write(tmp_path, "home.csv", "0,on\n10,of\n")
    with pytest.raises(ScenarioError) as error:
        world(tmp_path, f"{AIMED}, {AIMED}")
    (mistake,) = error.value.mistakes  # once, though two faults name the file
    assert (mistake["line"], Path(mistake["file"]).name) == (2, "home.csv")
    place = f"(named by {tmp_path / 'scenario.yaml'}:6: faults[0].trace)"
    assert mistake["message"].endswith(place)


def test_the_resolved_scenario_stands_alone(tmp_path: Path) -> None:
    write(tmp_path, "home.csv", HOME)
    scenario = world(tmp_path)
    text = dump(scenario)
    assert "home.csv" not in text
    (tmp_path / "traces" / "home.csv").unlink()
    assert loads(text) == scenario and timeline(loads(text)) == timeline(scenario)


def test_a_profile_names_traces_from_its_own_folder(tmp_path: Path) -> None:
    folder = tmp_path / "profiles" / "failures"
    folder.mkdir(parents=True)
    (folder / "home.csv").write_text(HOME)
    (folder / "nights.yaml").write_text(
        "description: d\nsource: s\nfaults:\n  - {kind: availability, trace: home.csv, start: 0s}\n"
    )
    scenario = world(tmp_path, "", "{name: a, failures: [nights]}", "40s")
    assert actions(scenario) == [(10.5, "leave"), (30, "join")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("home.csv", "0,on\n10,of\n", "home.csv:2: 'of' is not on, off or end"),
        ("home.csv", "0,on\n1_0,off\n", "home.csv:2: '1_0,off' is not as `3600,off`"),
        ("home.csv", "0,on\n\n10;off\n", "home.csv:3: '10;off' is not as `3600,off`"),
        ("home.csv", "0,on\n10,off\n9,on\n", "home.csv:3: 9 s does not follow 10 s"),
        ("home.csv", "0,on\n10,off\n", "home.csv:2: the trace begins with on: add .*`86400,end`"),
        ("home.csv", "", "home.csv: a trace has a step"),
        ("home.csv", "0,on\n\xff,off\n", "home.csv:2: "),
        ("home.json", "{", "home.json:1: is no json: "),
        ("home.json", "[]", "home.json: holds no trace"),
        ("home.json", '{"a": 3}', "home.json: a: is not a mapping with `active`"),
        ("home.json", '{"a": {"active": [1, "x"]}}', "a.active: is not a list of numbers"),
        ("home.json", '[{"active": [1]}]', "home.json: .0..finish_time: is not the number of"),
        (
            "home.yaml",
            "a:\n  finish_time: 9\n  active: [1, 5]\n  inactive: [3, 5]\n",
            "home.yaml:.: a.active.1.: 5 s does not follow 5 s",
        ),
        ("home.yaml", "a: [", "home.yaml:"),
        ("home.pkl", "", r"faults\[0\].trace: .*home.pkl is no trace: write a .csv, .json or"),
    ],
)
def test_a_mistake_in_a_trace_is_named_with_its_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    write(tmp_path, name, text)
    with pytest.raises(ScenarioError, match=message) as error:
        world(tmp_path, AIMED.replace("home.csv", name))
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("trace: gone.csv", r"scenario.yaml:6: faults\[0\].trace: .*gone.csv cannot be read: No"),
        ("trace: 3", r"faults\[0\].trace: "),
        ("trace: []", r"faults\[0\].trace: "),
        ("trace: ['on 0']", r"faults\[0\].trace: .*a step and an end at least"),
        ("trace: ['on 0, end 5'], speed: 0", r"faults\[0\].speed: .*write a number above 0"),
        ("trace: ['on 0, end 5'], by: fire", r"faults\[0\].by: "),
        ("at: 5s", r"faults\[0\].trace: is missing"),
    ],
)
def test_a_mistake_beside_a_trace_is_named_too(tmp_path: Path, fault: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as error:
        world(tmp_path, f"{{kind: availability, nodes: all, {fault}}}")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.slow
def test_a_day_of_a_thousand_devices_takes_seconds(tmp_path: Path) -> None:
    """A trace of their own for each, with a transition every half an hour."""
    traces = {
        f"phone-{n}": {
            "active": [60 * n / 1000 + at for at in range(0, 86_400, 3600)],
            "inactive": [60 * n / 1000 + at for at in range(1800, 86_400, 3600)],
            "finish_time": 86_400,
        }
        for n in range(1000)
    }
    write(tmp_path, "phones.json", json.dumps(traces))
    faults = "{kind: availability, nodes: all, trace: traces/phones.json}"
    began = time.process_time()
    scenario = world(tmp_path, faults, "{name: a, count: 1000}", "24h")
    planned = timeline(scenario)
    assert loads(dump(scenario)) == scenario
    assert time.process_time() - began < 30  # it takes 4 s
    assert 47_000 < len(planned) < 50_000
