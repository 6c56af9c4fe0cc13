"""Replays: the faults that a run realised strike again at their times, and no others."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import EmulatorError
from emulator.log.records import made
from emulator.runs.replay import Replay, read_replay, realised
from emulator.runtimes.virtual.play_virtual import play
from emulator.scenario import Scenario, dump, loads
from emulator.scenario.timeline.compiled import Timed, timeline
from emulator.world.verbs import Action
from tests.fakes.small_scenario import SCENARIOS
from tests.fakes.typed_commands import Emulate
from tests.fakes.virtual_world import Onlooker

DRAWN = """\
name: replayed
seed: 3
training: {dataset: digits, model: digits-mlp, algorithm: asgd}
stop: {time: 40s}
virtual: {learner: none, step: {exponential: 50ms}, boot: 1s}
devices:
  - name: home
    count: 2
    link: dsl
    failures:
      - name: mine
        faults:
          - {kind: crash, per_iteration: 5%, lasts: 3s}
          - {kind: partition, every: {exponential: 20s}, lasts: 2s}
  - {name: far}
faults:
  - {kind: straggler, delay: 50ms, nodes: [far], at: 10s, lasts: 10s}
  - {kind: pause, count: 2, per_iteration: 2%, lasts: 1s}
"""


def drawn() -> Scenario:
    return loads(DRAWN, folder=SCENARIOS)


def faults(folder: Path) -> list[dict[str, Any]]:
    records = map(json.loads, (folder / "run.jsonl").read_text().splitlines())
    return [
        {key: value for key, value in record.items() if key != "planned"}
        for record in records
        if "begins" in record
    ]


@pytest.mark.slow
def test_a_run_is_replayed_with_its_drawn_faults(tmp_path: Path) -> None:
    first, _ = play(drawn(), tmp_path, Onlooker())
    kinds = {record["fault"] for record in faults(first)}
    assert kinds == {"crash", "partition", "pause", "straggler"}
    replay = read_replay(first)
    assert len(replay.timeline) == len(faults(first)) > len(timeline(drawn()))
    again, summary = play(drawn(), tmp_path, Onlooker(), replay=replay)
    assert faults(again) == faults(first)
    assert summary["faults_planned"] == sum(timed.action.begins for timed in replay.timeline)
    manifest = json.loads((again / "manifest.json").read_text())
    assert manifest["replay"] == {
        "run": f"replayed/{first.name}",
        "actions": len(replay.timeline),
    }
    assert "replay" not in json.loads((first / "manifest.json").read_text())
    # a replay can be replayed, under another scenario for the same devices
    other = loads(DRAWN, ["faults[0].at=39s", "devices[0].failures=[]"], folder=SCENARIOS)
    third, _ = play(other, tmp_path, Onlooker(), replay=read_replay(again))
    assert faults(third) == faults(first)


def test_no_device_draws_a_fault_in_a_replay() -> None:
    scenario = drawn()
    assert all(device.hazards for device in scenario.nodes[:2])  # cached before the copy
    replayed = Replay("a/b", ()).of(scenario)
    chances = [hazard["per_iteration"] for device in replayed.nodes for hazard in device.hazards]
    assert len(chances) == sum(len(device.hazards) for device in scenario.nodes)
    assert not any(chances)
    assert scenario.nodes[0].hazards[0]["per_iteration"] == 0.05


def test_a_replayed_scenario_can_be_read_again() -> None:
    battery = "{name: cell, faults: [{kind: energy, capacity: 10Wh, idle: 1W}]}"
    scenario = loads(DRAWN, [f"devices[0].failures=[{battery}]"], folder=SCENARIOS)
    replayed = Replay("a/b", ()).of(scenario)
    assert replayed.batteries == {} != scenario.batteries
    assert loads(dump(replayed)).nodes == replayed.nodes


def test_records_become_actions_with_their_real_times() -> None:
    facts = {"node": "a", "fault": "straggler", "planned": 4.0}
    setting = {"delay": {"fixed": 1.0}}
    records = [
        made("hello", -1.0, node="a", incarnation=0),
        made("boot", 9.5, node="b", fault="crash", begins=False, planned=9.0),
        made("lag", 4.1, begins=True, setting=setting, **facts),
        made("lag", 4.6, begins=True, setting=setting, again=True, **facts),
        made("catch_up", 5.2, begins=False, **facts),
        made("kill", 0.0, node="b", fault="crash", begins=True, planned=0.0),
    ]
    assert realised(records) == [
        Timed(0.0, Action("kill", "b", "crash")),
        Timed(4.1, Action("lag", "a", "straggler", setting)),
        Timed(5.2, Action("catch_up", "a", "straggler")),
        Timed(9.5, Action("start", "b", "crash")),
    ]


def test_faults_of_unknown_devices_are_refused() -> None:
    struck = (Timed(1.0, Action("kill", name, "crash")) for name in ("far", "sun", "moon"))
    with pytest.raises(EmulatorError) as error:
        Replay("other/run", tuple(struck)).of(drawn())
    assert str(error.value) == (
        "the faults of other/run cannot be replayed: they strike 'sun', 'moon', and replayed has "
        "no such device: give the run of a scenario with the same devices"
    )


def test_a_fault_for_which_the_scenario_is_not_prepared_is_refused() -> None:
    lie = Action("falsify", "far", "byzantine", {"lie": "noise", "by": 1.0})
    replay = Replay("other/run", (Timed(1.0, lie),))
    with pytest.raises(EmulatorError, match="one is 'byzantine', for which replayed is not prep"):
        replay.of(drawn())
    liar = "faults=[{kind: byzantine, nodes: [home], at: 1h}]"
    assert replay.of(loads(DRAWN, [liar], folder=SCENARIOS))


@pytest.mark.parametrize(
    ("verb", "fault", "setting", "entry"),
    [
        ("reshape", "degrade", {"delay": 0.1}, "kind: degrade, delay: 1s"),
        ("halt", "crash", None, "kind: crash, keeps: state"),
    ],
)
def test_some_faults_are_prepared_for_on_their_devices(
    verb: str, fault: str, setting: Any, entry: str
) -> None:
    replay = Replay("other/run", (Timed(1.0, Action(verb, "far", fault, setting)),))
    for nodes in ("[]", "[home]"):
        faults = "[]" if nodes == "[]" else f"[{{{entry}, nodes: {nodes}, at: 1h}}]"
        with pytest.raises(EmulatorError, match=f"one is '{fault}'.*is not prepared: give it a"):
            replay.of(loads(DRAWN, [f"faults={faults}"], folder=SCENARIOS))
    there = f"faults=[{{{entry}, nodes: [far], at: 1h}}]"
    assert replay.of(loads(DRAWN, [there], folder=SCENARIOS))


def test_a_server_that_keeps_nothing_is_not_crashed_by_a_replay() -> None:
    replay = Replay("other/run", (Timed(1.0, Action("kill", "server", "server-crash")),))
    with pytest.raises(EmulatorError, match="the server crashes, and all updates would be lost"):
        replay.of(drawn())
    kept = loads(DRAWN, ["server.durability=update"], folder=SCENARIOS)
    assert replay.of(kept).server.durability == "update"


def test_a_log_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmulatorError, match=r"run\.jsonl cannot be read: No such file"):
        read_replay(tmp_path)
    (tmp_path / "run.jsonl").write_text('{"at": 0.0, "what": "kill"}\n')
    with pytest.raises(EmulatorError, match=r"run\.jsonl:1: not a record"):
        read_replay(tmp_path)


@pytest.mark.slow
def test_the_command_replays_the_run_that_it_is_given(emulate: Emulate, tmp_path: Path) -> None:
    file = tmp_path / "replayed.yaml"
    file.write_text(DRAWN)
    run = ("run", file, "--on", "virtual", "--no-report")
    assert emulate(*run).code == 0
    first = (tmp_path / "runs" / "replayed" / "latest").resolve()
    assert emulate(*run, "--replay", "replayed", "--set", "seed=4").code == 0
    again = (tmp_path / "runs" / "replayed" / "latest").resolve()
    assert again != first
    assert faults(again) == faults(first)
    unknown = emulate(*run, "--replay", "replayed", "--set", "devices[0].name=house")
    assert unknown.code == 1
    assert "they strike 'home-" in unknown.err
    assert "no run 'nowhere'" in emulate(*run, "--replay", "nowhere").err


NETWORK = """\
network:
  routers: [a, b]
  links: [{between: [a, b], up: {rate: 2mbit}}]
  server: b
"""


@pytest.mark.slow
def test_the_faults_of_a_network_are_replayed(tmp_path: Path) -> None:
    faulty = "  - {kind: degrade, rate: 20%, nodes: [a-b], at: 5s, lasts: 9s}\n"
    faulty += "  - {kind: partition, nodes: [a-b], at: 20s, lasts: 2s}\n"
    scenario = loads(DRAWN + faulty + NETWORK, folder=SCENARIOS)
    first, _ = play(scenario, tmp_path, Onlooker())
    again, _ = play(scenario, tmp_path, Onlooker(), replay=read_replay(first))
    assert faults(again) == faults(first)
    assert {"a-b", "home-0", "far"} <= {record["node"] for record in faults(first)}
    with pytest.raises(EmulatorError, match="they strike 'a-b', and replayed has no such device"):
        play(drawn(), tmp_path, Onlooker(), replay=read_replay(first))
    unprepared = loads(DRAWN + NETWORK, folder=SCENARIOS)
    with pytest.raises(EmulatorError, match="one is 'degrade'"):
        play(unprepared, tmp_path, Onlooker(), replay=read_replay(first))
