"""The table of checks: each row finds what it is for, and every command tells what is found."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

import emulator
from emulator.checks import finding, this_host
from emulator.checks.finding import Finding, Situation
from emulator.checks.links import standing_clock
from emulator.checks.preflight import (
    CHECKS,
    DECISIVE,
    STAGES,
    findings,
    preflight,
    refuse,
    warnings,
)
from emulator.errors import HostError, PythonFileError, ScenarioError, unplaced
from emulator.learning.models.own_model import OwnModel
from emulator.machine import kernel
from emulator.machine.host import Host
from emulator.scenario import Scenario, cores_and_memory, load
from emulator.sweeps.studies import STUDIES, Entry, Study, play_study
from tests.fakes.runs.small_workload import own_workload
from tests.fakes.small_scenario import small
from tests.fakes.typed_commands import Emulate

HOST = Host("tiny", 2, 8 << 30, 8 << 30, "6.1")
NO_SPLIT: Any = lambda scenario: None  # noqa: E731
TABLE = "training={dataset: mnist, codec: dense, model: {layers: vgg-19}}"
BARE = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Bare:
    def start(self, members, seed=0, examples=None): return self
    def begin(self, now): pass
    def holds(self, node): return node in self.waiting
    def sent(self, node): pass
    def arrive(self, node, item, now):
        self.waiting.add(node)
    def left(self, node, now): pass
    def joined(self, node, now): pass
    def deadline(self): return None
    def tick(self, now): return None
    @property
    def waiting(self): return WAITING
WAITING = set()
"""


EMPTY = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Bare:
    def start(self, context): return 7
    def decode(self, frames, layout): ...
    def count(self, frames): ...
"""


class Provoked(NamedTuple):
    """A scenario in which a check finds something, and words of the finding."""

    words: str
    overrides: tuple[str, ...] = ()
    on: str = "docker"
    host: Host = HOST
    given: Callable[[Path, pytest.MonkeyPatch], Scenario] | None = None
    """Makes the scenario, in place of the small one with `overrides`."""


def _lacking(name: str, why: str, *overrides: str) -> Any:
    """Return a maker of a scenario on a host on which `this_host.NAME` fails."""

    def given(folder: Path, patch: pytest.MonkeyPatch) -> Scenario:
        def fails() -> str:
            raise HostError(why)

        patch.setattr(this_host, name, fails if name == "tensorflow_version" else lambda: why)
        return small(overrides=overrides)

    return given


def _no_control(folder: Path, patch: pytest.MonkeyPatch) -> Scenario:
    patch.setattr(kernel, "congestion_refusal", lambda control: f"no {control} here")
    return small(overrides=("tcp={congestion: bbr}",))


def _one_bridge(folder: Path, patch: pytest.MonkeyPatch) -> Scenario:
    patch.setattr(cores_and_memory, "PORTS", 5)
    street = "bottlenecks=[{name: street, up: {rate: 1mbit}, members: [one]}]"
    return small(overrides=(street,))


def _own_plugin(source: str, key: str = "codec") -> Any:
    def given(folder: Path, patch: pytest.MonkeyPatch) -> Scenario:
        (folder / "own.py").write_text(source)
        training = {"codec": "dense", key: "./own.py:Bare"}
        keys = ", ".join(f"{name}: {value}" for name, value in training.items())
        file = folder / "own.yaml"
        file.write_text(
            f"name: own\ntraining: {{dataset: digits, model: digits-mlp, {keys}}}\n"
            "stop: {updates: 10}\ndevices: [{name: d, count: 3}]\n"
        )
        return load(file)

    return given


def _no_weights(folder: Path, patch: pytest.MonkeyPatch) -> Scenario:
    scenario = small()
    training = scenario.training.model_copy(update={"initial": str(folder / "none.npz")})
    return scenario.model_copy(update={"training": training})


def _own_data(folder: Path, patch: pytest.MonkeyPatch) -> Scenario:
    levels = np.random.default_rng(1).integers(0, 256, (40, 8, 8)).astype("f4")
    np.savez(folder / "own.npz", x_train=levels, y_train=np.arange(40) % 10)
    file = folder / "own.yaml"
    file.write_text(
        "name: own\ntraining: {dataset: ./own.npz, model: digits-mlp, algorithm: asgd}\n"
        "stop: {updates: 10}\ndevices: [{name: d, count: 2}]\n"
    )
    return load(file)


def _measured_model(folder: Path, patch: pytest.MonkeyPatch) -> Any:
    base = small().training.network
    model = OwnModel(base.name, base.task, base.layout, base.draw, base.logits, folder=folder)
    patch.setattr(OwnModel, "memory", object())
    patch.setattr(this_host, "worker_memory", lambda scenario: 100 << 20)
    training = SimpleNamespace(model="./m.py:f", network=model, batch_size=10)
    return SimpleNamespace(
        training=training, nodes=[SimpleNamespace(name="d", memory=1)], time=None
    )


CRASHES = "{kind: crash, per_iteration: 100%, lasts: 1s}"
PRESSES = "{kind: memory, takes: 99%, at: 1s, lasts: 1s}"
FORTY = "devices=[{name: home, count: 40, profile: {cpu: 20%}}]"
KRUM = "training={dataset: digits, model: digits-mlp, codec: dense, synchronization: barrier, "

PROVOKED: dict[str, Provoked] = {
    "workload_in_containers": Provoked(
        "play it with --on docker", on="virtual", given=lambda folder, patch: own_workload()
    ),
    "trainable_model": Provoked("layer table", (TABLE, "virtual.step=1s")),
    "endless_crashes": Provoked(
        "the run would never end",
        (f"devices=[{{name: a, failures: [{{name: f, faults: [{CRASHES}]}}]}}]",),
    ),
    "scarce_memory": Provoked(
        "are kept for the device's supervisor", (f"faults=[{PRESSES[:-1]}, nodes: [one]}}]",)
    ),
    "unfit_plugins": Provoked("start", given=_own_plugin(EMPTY)),
    "data_split": Provoked("run `emulate data digits`"),
    "readable_initial_model": Provoked("No such file", given=_no_weights),
    "learner_fit": Provoked(
        "nobody learns", ("virtual.learner=none", "stop.accuracy=90%"), "virtual"
    ),
    "standing_clock": Provoked(
        "the clock would stand still",
        ("virtual={learner: none, step: 0s, boot: 1s}", "stop={time: 1min}"),
        "virtual",
    ),
    "late_groups": Provoked("is unknown on this host", ("training.algorithm=fedavg",)),
    "too_short": Provoked(
        "too short for any update", ("stop.time=50ms", "virtual.step=1s"), "virtual"
    ),
    "unfit_optimizer": Provoked(
        "presumes sgd",
        ("training={dataset: digits, model: digits-mlp, codec: dgc, optimizer: adam}",),
    ),
    "misunderstood_parts": Provoked("`scale: 255`", given=_own_data),
    "doubtful_plugins": Provoked(
        "devices wait without an end", given=_own_plugin(BARE, "synchronization")
    ),
    "unguarded_quarantine": Provoked(
        "while a device is in quarantine",
        (
            KRUM + "aggregation: {kind: krum, liars: 1}}",
            "devices=[{name: a, count: 5}]",
            "server.quarantine={}",
        ),
    ),
    "faults_in_vain": Provoked(
        "the run ends at stop.time",
        ("stop.time=1s", "faults=[{kind: crash, nodes: [one], at: 2s}]"),
    ),
    "short_limits": Provoked(
        "packets are fewer than",
        ("devices=[{name: a, link: {up: {rate: 8mbit, delay: 100ms, limit: 10}}}]",),
    ),
    "containers_here": Provoked(
        "no containers", given=_lacking("lacks_containers", "no containers")
    ),
    "measures_in_virtual_time": Provoked(
        "containers keep no trajectory", ("measure={momentum: {steps: 50, examples: 20}}",)
    ),
    "relayed_messages": Provoked(
        "a relay takes no messages with flipped bits",
        (
            "server.relay=host",
            "faults=[{kind: corrupt, nodes: [one], at: 1s, lasts: 1s, messages: 5%}]",
        ),
    ),
    "shards_in_containers": Provoked(
        "a shard comes back alone", ("server.shards=2", "server.durability={every: 5s}")
    ),
    "missing_imports": Provoked(
        "which containers lack", given=_own_plugin("import pandas\n" + BARE, "synchronization")
    ),
    "quotas": Provoked(
        "Docker refuses such a quota", ("devices=[{name: a, profile: {cpu: 99900%}}]",)
    ),
    "link_bounds": Provoked("is not from 100bit", ("server.link={up: {rate: 40bit}}",)),
    "congestion_control": Provoked("no bbr here", given=_no_control),
    "shortfalls": Provoked("available", host=Host("tiny", 2, 1, 1, "6.1")),
    "full_tables": Provoked("needs 6 ports of one bridge", given=_one_bridge),
    "too_fast": Provoked("would be short of processor time", (FORTY,)),
    "background_in_containers": Provoked(
        "no container sends beside the devices",
        ("devices=[{name: one, background: {up: {rate: 1mbit}}}]",),
    ),
    "routers_in_containers": Provoked(
        "no routers that forward over several links", ("network={routers: [core]}",)
    ),
    "small_devices": Provoked("as emulate model measured", given=_measured_model),
    "tight": Provoked("leaves room", ("devices=[{name: free, count: 200}]",)),
    "tensorflow_here": Provoked(
        "TensorFlow is missing", given=_lacking("tensorflow_version", "TensorFlow is missing")
    ),
}
"""A case for each check of the table, by the name of its function."""


def test_every_check_has_a_case() -> None:
    names = [check.function.__name__ for check in CHECKS]
    assert sorted(names) == sorted(PROVOKED)
    assert {check.stage for check in CHECKS} == {*STAGES} > {*DECISIVE}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.function.__name__)
def test_every_check_finds_what_it_is_for(
    check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMULATE_CACHE", str(tmp_path / "cache"))
    case = PROVOKED[check.function.__name__]
    assert case.on in check.runtimes
    scenario = case.given(tmp_path, monkeypatch) if case.given else small(overrides=case.overrides)
    found = [str(each) for each in check.findings(Situation(scenario, case.on, case.host))]
    assert any(case.words in text for text in found), found


# -- together --------------------------------------------------------------------------------------


def test_errors_after_a_decisive_stage_say_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (TABLE, "virtual.step=1s", FORTY)
    found = [*findings(Situation(small(overrides=text), "docker", HOST, NO_SPLIT))]
    assert len([each for each in found if each.fatal]) == 1
    assert "would be short of processor time" in " ".join(map(str, found))
    monkeypatch.setattr(this_host, "lacks_containers", lambda: "no containers")
    small_host = Host("tiny", 2, 1, 1, "6.1")
    found = [*findings(Situation(small(), "docker", small_host, NO_SPLIT))]
    assert [str(each) for each in found] == ["no containers"]
    assert not [
        *findings(Situation(small(overrides=("virtual.step=1s",)), "virtual", split_by=NO_SPLIT))
    ]


def test_a_system_without_containers_is_asked_nothing_that_only_those_with_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not even where the model is refused already."""

    def unknown(*asked: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(this_host, "lacks_containers", lambda: "no containers")
    monkeypatch.setattr(kernel, "congestion_refusal", unknown)
    scenario = small(overrides=(TABLE, "virtual.step=1s", "tcp.congestion=bbr"))
    found = [*findings(Situation(scenario, "docker", HOST, NO_SPLIT))]
    assert len([each for each in found if each.fatal]) == 1


def test_the_disk_is_that_of_the_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Path] = []
    free = SimpleNamespace(free=7)
    monkeypatch.setattr(finding, "disk_usage", lambda folder: asked.append(folder) or free)
    for runs in (tmp_path, tmp_path / "not" / "yet"):
        assert Situation(small(), "docker", HOST, NO_SPLIT, runs).capacity.disk == 7
    assert asked == [tmp_path, tmp_path]


STANDING = ("virtual={learner: none, step: 0s, boot: 0s}", "stop={time: 5s}")


@pytest.mark.parametrize(
    "link, stands",
    [
        ("{up: {steps: [{at: 0s, rate: 1mbit}]}}", False),
        ("{up: {steps: [{at: 0s, rate: 1mbit}, {at: 1s, delay: 2ms}]}}", False),
        ("{up: {steps: [{at: 1s, rate: 1mbit}]}}", True),
        ("{up: {delay: 1ms, steps: [{at: 1s, delay: 0ms}]}}", True),
    ],
)
def test_a_link_that_changes_takes_time_if_it_does_at_each_moment(link: str, stands: bool) -> None:
    scenario = small(overrides=(*STANDING, f"devices=[{{name: one, link: {link}}}]"))
    assert bool([*standing_clock(scenario)]) == stands


def test_a_refusal_is_an_error_of_its_kind_with_its_place() -> None:
    found = preflight(
        small(overrides=("devices[0].profile={cpu: 99900%}",)), "docker", HOST, NO_SPLIT
    )
    (quota,) = [each for each in found.findings if each.place == "devices[0].profile.cpu"]
    assert quota.plain() == {
        "severity": "error",
        "place": "devices[0].profile.cpu",
        "text": str(quota),
    }
    assert HostError in {type(error) for error in found.refusals}
    with pytest.raises(HostError, match="Docker refuses such a quota"):
        found.require()
    assert Finding.of(HostError("no engine: start it")).place == ""


def test_refusals_together_are_mistakes_with_their_places() -> None:
    placed = [ScenarioError(f"{place}: wrong", [unplaced("wrong", place)]) for place in "ab"]
    with pytest.raises(ScenarioError) as one:
        refuse([*placed, HostError("no engine: start it")])
    assert str(one.value) == (
        "this cannot be played here:\na: wrong\nb: wrong\nno engine: start it"
    )
    assert [(each["place"], each["message"]) for each in one.value.mistakes] == [
        ("a", "wrong"),
        ("b", "wrong"),
        ("", "no engine: start it"),
    ]


def test_a_refused_python_file_is_a_finding_like_others() -> None:
    found = Finding.of(PythonFileError("losses.py", 3, "no function"))
    assert type(found.error()) is ScenarioError
    assert str(found.error()) == "losses.py:3: no function"


def test_warnings_need_no_data_and_come_once() -> None:
    scenario = small(overrides=("stop.time=50ms", "virtual.step=1s"))
    (text,) = warnings(scenario, "virtual")
    assert text.startswith("stop.time 50ms is too short for any update, so the run will fail")


# -- heard everywhere ------------------------------------------------------------------------------

SHORT = """
name: short
training: {dataset: digits, model: digits-mlp, algorithm: asgd}
stop: {time: 50ms}
virtual: {learner: none, step: 1s, boot: 1s}
devices: [{name: home, count: 2}]
"""
WARNED = "warning stop.time 50ms is too short for any update, so the run will fail"


@pytest.fixture
def short(tmp_path: Path) -> Path:
    file = tmp_path / "short.yaml"
    file.write_text(SHORT)
    return file


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--on", "virtual", "--no-report"),
        pytest.param(("sweep", "--seeds", "3"), marks=pytest.mark.slow),
        pytest.param(("sweep", "--over", "training.batch_size=5,10"), marks=pytest.mark.slow),
    ],
)
def test_a_command_that_plays_says_once_what_check_warns_of(
    emulate: Emulate, short: Path, command: tuple[str, ...]
) -> None:
    said = emulate(command[0], short, *command[1:])
    lines = [line for line in said.err.splitlines() if line.startswith("warning")]
    assert [line.partition(":")[0] for line in lines] == [WARNED]
    assert WARNED not in said.out


def _nothing_is_played(*anything: object, **more: object) -> None:
    raise HostError("nothing is played here")


def test_tune_says_once_what_check_warns_of(
    emulate: Emulate, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("emulator.cli.play.tune"), "_play", _nothing_is_played)
    said = emulate("tune", short, "--set", "virtual.learner=numpy")
    assert [line.partition(":")[0] for line in said.err.splitlines() if "warning" in line] == [
        WARNED
    ]


def test_a_study_says_once_what_check_warns_of(
    emulate: Emulate, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Entry("world", "entry", short, (), ("0.1", "0.2"))
    made_up = Study("short", "Is it too short?", short, (entry,))
    monkeypatch.setitem(cast("dict[str, Study]", STUDIES), "short", made_up)
    monkeypatch.setattr(play_study, "play_batches", _nothing_is_played)
    said = emulate("study", "short")
    warned = [line for line in said.err.splitlines() if "warning" in line]
    assert [line.partition(":")[0] for line in warned] == [WARNED]
    assert not warned[0].endswith("...")  # it is no step


@pytest.mark.slow
def test_a_warning_of_some_points_names_them(emulate: Emulate, short: Path) -> None:
    said = emulate("sweep", short, "--over", "stop.time=50ms,60ms,1min", "--seeds", "2")
    first, second = (line for line in said.err.splitlines() if line.startswith("warning"))
    assert first.startswith("warning ") and "and 1 more: stop.time 50ms is too short" in first
    assert "and 1 more: stop.time 60ms is too short" in second


@pytest.mark.slow
def test_python_returns_the_warnings(short: Path, tmp_path: Path) -> None:
    ran = emulator.run(short, on="virtual", runs=tmp_path / "runs")
    (text,) = ran.warnings
    assert f"warning {text}".startswith(WARNED)
    swept = emulator.sweep(short, {}, seeds=2, runs=tmp_path / "runs")
    assert swept.warnings == ran.warnings
