"""A workload: what a scenario may say of it, what goes with it, and what it refuses."""

from pathlib import Path

import pytest

from emulator.checks.preflight import preflight
from emulator.errors import ScenarioError
from emulator.scenario import dump, load, loads
from emulator.scenario.sections.workload_section import (
    MetricGoal,
    NoTraining,
    ProgramPlace,
    number_of,
)
from emulator.world.faults import FAULTS
from emulator.world.stop_conditions import KNOWN
from tests.fakes.runs.small_workload import WORKLOAD, mistakes_of_workload, own_workload

PLACE = ProgramPlace("10.0.0.2", "home-1", 1, 3, 7)


def test_a_resolved_workload_reads_as_the_same_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "own.yaml").write_text(WORKLOAD)
    scenario = load(tmp_path / "own.yaml")
    assert scenario.workload is not None
    assert scenario.workload.device.mounts == {"/etc/own": str(tmp_path / "app")}
    assert loads(dump(scenario)) == scenario
    assert "training" not in dump(scenario)
    with pytest.raises(ScenarioError, match=r"this needs training\.model, and the scenario has"):
        _ = scenario.training.model
    assert scenario.training == NoTraining()


def test_words_in_braces_are_replaced_after_the_command_is_split() -> None:
    scenario = own_workload()
    assert scenario.workload is not None
    programs = scenario.workload.programs
    assert programs["server"].words(PLACE) == ["serve", "--for", "3"]
    assert programs["server"].environment(PLACE) == {"SEED": "7"}
    assert programs["device"].words(PLACE) == ["join", "10.0.0.2:7000", "as home-1", "1"]
    assert PLACE.fill('{"a": {name}} ${name} {data} {x}') == '{"a": home-1} $home-1 /data {x}'


@pytest.mark.parametrize(
    ("text", "number"),
    [("97%", 0.97), ("0.5", 0.5), ("-1e-3", -0.001), ("nan", None), ("inf", None), ("x", None)],
)
def test_a_number_may_be_a_share(text: str, number: float | None) -> None:
    assert number_of(text) == (None if number is None else pytest.approx(number))


def test_a_goal_is_a_least_value_or_a_largest() -> None:
    scenario = own_workload(("{accuracy: 97%}", "{accuracy: 97%, loss: {most: 0.25}}"))
    goals = scenario.stop.metric or {}
    assert [goals["accuracy"].met(value) for value in (0.969, 0.97, 1.0)] == [False, True, True]
    assert [goals["loss"].met(value) for value in (0.26, 0.25)] == [False, True]
    phrases = [KNOWN[key].phrase(limit) for key, limit in scenario.stop.limits.items()]
    assert phrases == [
        "1min",
        "the end of the driver",
        "accuracy 0.97 at least or loss 0.25 at most",
    ]
    assert MetricGoal(least=1.0).met(1.0)


TRAINING = "training: {dataset: digits, model: digits-mlp, algorithm: asgd}"

MISTAKES = {
    "both": ("stop: {driver", f"{TRAINING}\nstop: {{driver", "workload: stands beside"),
    "no image": ("  image: own/app:1\n", "", "workload: needs one image: give `image`, or `build`"),
    "no sign": ("ready: {port: 7000}", "ready: {}", "workload.server.ready: needs one sign"),
    "two signs": ("{port: 7000}", "{port: 7000, log: a}", "workload.server.ready: needs one sign"),
    "no pattern": ("acc=([0-9.]+%?)", "acc=(", "workload.metrics.accuracy: 'acc=(' is no regular"),
    "no group": ("acc=([0-9.]+%?)", "acc", "workload.metrics.accuracy: 'acc' needs one group"),
    "word": ("{count}", "{cuont}", "{cuont} is not replaced by anything (did you mean 'count'?)"),
    "quotes": (
        "'serve --for {count}'",
        'serve "x',
        "workload.server.command: 'serve \"x' is no com",
    ),
    "inside": ("/etc/own: .", "etc/own: .", "'etc/own' is no absolute path in the container"),
    "root": ("output: /results", "output: /", "workload.output: '/' is no absolute path"),
    "mount": ("/etc/own: .", "/etc/own: ./none", "workload.device.mounts./etc/own: there is no "),
    "build": ("image: own/app:1", "build: .", " has no Dockerfile: name the folder with one"),
    "updates": ("driver: true", "updates: 3", "stop.updates: the programs of a workload are not"),
    "bound": ("accuracy: 97%}", "accuracy: {}}", "stop.metric.accuracy: needs one bound"),
    "evaluate": (
        "seed: 7",
        "evaluate: {every: 3}",
        "evaluate: does not go with a workload: no mod",
    ),
    "virtual": ("seed: 7", "virtual: {step: 1s}", "virtual: does not go with a workload: virtual"),
    "time": (
        "seed: 7",
        "time: {dilation: 2}",
        "time: does not go with a workload: the programs go",
    ),
    "encrypt": (
        "server: {link",
        "server: {encrypt: true, link",
        "server.encrypt: does not go with",
    ),
    "drawn": (
        "at: 10s",
        "per_iteration: 1%",
        "faults[0].per_iteration: of a workload: it is drawn",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_named_with_its_place(case: str) -> None:
    old, new, message = MISTAKES[case]
    (said,) = mistakes_of_workload((old, new))
    assert message in said


def test_all_mistakes_are_told_at_once() -> None:
    changes = [MISTAKES[case][:2] for case in ("word", "mount", "root", "updates")]
    assert len(mistakes_of_workload(*changes)) == 4


INSIDE = {"byzantine", "corrupt", "overheat", "straggler"}
SETTINGS = {
    "corrupt": "messages: 1%",
    "overheat": "heats: 1s, cools: 1s", "straggler": "delay: 1s",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["crash", "leave", "pause", "partition", *sorted(INSIDE)])
def test_a_fault_that_acts_inside_a_worker_is_refused(kind: str) -> None:
    assert kind in FAULTS
    more = f", {SETTINGS[kind]}" if kind in SETTINGS else ""
    change = ("kind: partition", f"kind: {kind}{more}")
    if kind in INSIDE:
        said = mistakes_of_workload(change)
        assert any("acts inside our own worker" in line for line in said), said
    else:
        assert own_workload(change).workload is not None


@pytest.mark.parametrize("on", ["virtual", "swarm"])
def test_a_runtime_without_its_containers_refuses_a_workload(on: str) -> None:
    refusals = list(map(str, preflight(own_workload(), on).refusals))
    assert [text.partition(":")[0] for text in refusals] == ["workload"]
    assert "play it with --on docker" in refusals[0]


def test_containers_play_a_workload() -> None:
    assert preflight(own_workload(), "docker").refusals == ()


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (
            "- {name: office}",
            "- {name: office, background: {up: {rate: 1mbit}}}",
            "devices[1].background",
        ),
        (
            "devices:",
            "network: {routers: [a], links: [], attach: {home: a, office: a}, server: a}\ndevices:",
            "network",
        ),
    ],
)
def test_containers_refuse_of_a_workload_what_they_refuse_of_a_training(
    old: str, new: str, place: str
) -> None:
    refusals = list(map(str, preflight(own_workload((old, new)), "docker").refusals))
    assert [text.partition(":")[0] for text in refusals] == [place]
