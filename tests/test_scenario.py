"""Scenarios: what a file comes to, what is said of a wrong one, and what is planned from it."""

import copy
import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.actions import Action
from emulator.algorithms import ALGORITHMS
from emulator.codecs import Dense, TopK
from emulator.datasets.split import Dirichlet, Iid, Shards
from emulator.errors import ScenarioError
from emulator.link import Link, Side
from emulator.local import Local
from emulator.modulation import Constant, PerParameter, Staleness
from emulator.optimizers import SGD, Adam, Momentum
from emulator.scenario import (
    Demand,
    Host,
    Scenario,
    demand,
    dump,
    load,
    loads,
    schema,
    shortfalls,
    timeline,
    world,
)
from emulator.scenario.profiles import Library
from emulator.scenario.timeline import Timed, lines, outages
from emulator.synchronization import Asynchronous, Barrier, Bounded, FedAvg, LocalSGD, Softsync
from emulator.units import Fraction, Rate, Seconds

SCENARIOS = Path(__file__).parent.parent / "scenarios"
PLAYED = sorted(path for path in SCENARIOS.rglob("*.yaml") if "profiles" not in path.parts)
FLAKY = SCENARIOS / "flaky-homes.yaml"
WRITTEN = yaml.safe_load(FLAKY.read_text())

SMALL = """\
name: small
training:
  dataset: digits
  model: digits-mlp
  algorithm: asgd
stop: {updates: 10}
devices:
  - name: one
  - {name: pair, count: 2}
"""


def small(*changes: tuple[str, str], overrides: tuple[str, ...] = ()) -> Scenario:
    text = SMALL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return loads(text, overrides, SCENARIOS)


def mistakes(*changes: tuple[str, str], overrides: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        small(*changes, overrides=overrides)
    return str(error.value).split("\n")


# -- what a file comes to -------------------------------------------------------------------------


def test_the_scenario_of_the_design_means_what_it_says() -> None:
    scenario = load(FLAKY)
    assert (scenario.name, scenario.seed) == ("flaky-homes", 7)
    training = scenario.training
    assert (training.dataset, training.model, training.split) == ("mnist", "mnist-cnn", Iid())
    assert (training.batch_size, training.learning_rate) == (10, 0.1)
    assert training.codec == TopK(keep=Fraction(0.01))
    assert (training.modulation, training.synchronization) == (PerParameter(), Asynchronous())
    assert (training.algorithm, training.error_feedback) == ("adacomp", False)
    assert scenario.evaluate.every == 200
    stop = scenario.stop
    assert (stop.updates, stop.accuracy, stop.time) == (3000, 0.97, 600)
    server = scenario.server
    assert server.link == Link(up=Side(rate=Rate(1e9)), down=Side(rate=Rate(1e9)))
    assert server.checkpoint is not None
    assert (server.checkpoint.every, server.encrypt) == (30, False)
    names = [device.name for device in scenario.nodes]
    assert names == [f"{group}-{number}" for group in ("fiber", "adsl") for number in range(4)]


def test_a_device_has_its_groups_hardware_link_and_failures() -> None:
    fiber, adsl = load(FLAKY).nodes[0], load(FLAKY).nodes[-1]
    assert (fiber.name, fiber.group, fiber.profile) == ("fiber-0", "fiber", "laptop")
    assert (fiber.cpu, fiber.memory, fiber.failures) == (0.4, 512 << 20, ())
    assert fiber.link.down == Side(rate=Rate(20e6), delay=Seconds(0.001))
    assert (adsl.name, adsl.cpu, adsl.profile) == ("adsl-3", 0.1, "raspberry-pi-4")
    assert adsl.link.up == Side(Rate(1e6), Seconds(0.025), Seconds(0.003), Fraction(0.001))
    assert [profile.name for profile in adsl.failures] == ["flaky-home"]


def test_what_is_not_said_has_the_documented_default() -> None:
    scenario = small()
    training = scenario.training
    assert scenario.seed == 0
    assert (training.split, training.batch_size, training.learning_rate) == (Iid(), 10, 0.1)
    assert (training.modulation, training.synchronization) == (Constant(), Asynchronous())
    assert (training.optimizer, training.local) == (SGD(), Local(0.1))
    assert scenario.evaluate.every == 200
    assert (scenario.server.link, scenario.server.checkpoint) == (Link(), None)
    assert (scenario.server.encrypt, scenario.faults) == (False, ())
    one, *pair = scenario.nodes
    assert (one.name, one.cpu, one.link, one.failures) == ("one", None, Link(), ())
    assert [device.name for device in pair] == ["pair-0", "pair-1"]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_is_a_name_for_its_parts(name: str) -> None:
    training = small(("asgd", name)).training
    algorithm = ALGORITHMS[name]
    assert training.codec == algorithm.codec
    assert training.modulation == algorithm.modulation
    assert training.synchronization == algorithm.synchronization
    assert training.algorithm == training.described == name


@pytest.mark.parametrize(
    ("key", "text", "value", "described"),
    [
        ("codec", "dense", Dense(), "asgd"),
        (
            "codec",
            "{kind: topk, keep: 0.5%, indices: u32}",
            TopK(Fraction(0.005), indices="u32"),
            "topk, constant, asynchronous",
        ),
        ("modulation", "staleness", Staleness(), "ada-sgd"),
        (
            "modulation",
            "{kind: per-parameter}",
            PerParameter(),
            "dense, per-parameter, asynchronous",
        ),
        ("synchronization", "barrier", Barrier(), "bsp"),
        (
            "synchronization",
            "{kind: barrier, quorum: 90%}",
            Barrier(Fraction(0.9)),
            "dense, constant, barrier",
        ),
        (
            "synchronization",
            "{kind: bounded, bound: 1}",
            Bounded(bound=1),
            "dense, constant, bounded",
        ),
        (
            "synchronization",
            "{kind: softsync, splits: 3}",
            Softsync(splits=3),
            "dense, constant, softsync",
        ),
        (
            "synchronization",
            "{kind: fedavg, clients: 50%, epochs: 5, local_rate: 1e-2, patience: 10min}",
            FedAvg(Fraction(0.5), 5, 0.01, Seconds(600)),
            "dense, constant, fedavg",
        ),
        (
            "synchronization",
            "{kind: local-sgd, steps: 3}",
            LocalSGD(steps=3),
            "dense, constant, local-sgd",
        ),
        ("optimizer", "sgd", SGD(), "asgd"),
        ("optimizer", "{kind: momentum, momentum: 0.5}", Momentum(0.5), "asgd, momentum"),
        ("optimizer", "adam", Adam(), "asgd, adam"),
        ("split", "dirichlet", Dirichlet(), "asgd"),
        ("split", "{kind: shards, per_device: 3}", Shards(per_device=3), "asgd"),
        ("error_feedback", "true", True, "dense, constant, asynchronous, error feedback"),
    ],
)
def test_a_part_is_spelled_out_or_a_bare_word(
    key: str, text: str, value: object, described: str
) -> None:
    codec = "" if key == "codec" else "codec: dense\n  "
    training = small(("algorithm: asgd", f"{codec}{key}: {text}")).training
    assert getattr(training, key) == value
    assert training.described == described
    name, *_ = described.split(", ")
    assert training.algorithm == (name if name in ALGORITHMS else None)


def test_yaml_means_what_it_looks_like() -> None:
    """As in YAML 1.2: `no` is a word, 1e-3 a number, a date a text."""
    scenario = small(("name: one", "name: no"), ("name: small", "name: 2024-01-01\nseed: 010"))
    assert (scenario.nodes[0].name, scenario.name, scenario.seed) == ("no", "2024-01-01", 10)
    assert small(("asgd", "asgd\n  learning_rate: 1e-3")).training.learning_rate == 1e-3
    linked = small(("name: one", "name: one\n    link: &slow dial"), ("2}", "2, link: *slow}"))
    assert linked.nodes[0].link == linked.nodes[2].link != Link()


# -- profiles -------------------------------------------------------------------------------------


PRESETS = """3g 1600/768/150, 3gfast 1600/768/75, 3gslow 400/400/200, 3gem 400/400/200,
2g 280/256/400, edge 240/200/420, dial 49/30/60, dsl 1500/384/25, cable 5000/1000/14,
fios 20000/5000/2, 4g 9000/9000/85, lte 12000/12000/35"""


@pytest.mark.parametrize("preset", PRESETS.replace("\n", " ").split(", "))
def test_a_preset_has_its_known_rates_and_half_its_rtt_each_way(preset: str) -> None:
    name, numbers = preset.split()
    down, up, rtt = map(float, numbers.split("/"))
    link = small(("name: one", f"name: one\n    link: {name}")).nodes[0].link
    half = Seconds.parse(f"{rtt / 2}ms")
    assert link == Link(up=Side(Rate(up * 1e3), half), down=Side(Rate(down * 1e3), half))


def test_the_shipped_profiles_can_all_be_used() -> None:
    library = Library(SCENARIOS)
    assert set(library.names("links")) == {one.split()[0] for one in PRESETS.split(",")}
    devices, failures = library.names("devices"), library.names("failures")
    assert {"laptop", "raspberry-pi-3", "raspberry-pi-4", "jetson-nano", "phone"} <= set(devices)
    assert "flaky-home" in failures
    assert len(failures) >= 3
    for name in devices:
        device = small(("name: one", f"name: one\n    profile: {name}")).nodes[0]
        assert device.profile == name
        assert device.cpu is not None
        assert device.memory >= 192 << 20
    for name in failures:
        (profile,) = small(("name: one", f"name: one\n    failures: [{name}]")).nodes[0].failures
        assert profile.name == name
    for file in (*devices.values(), *failures.values(), *library.names("links").values()):
        about = yaml.safe_load(file.read_text())
        assert about["description"]
        assert about["source"]


def in_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "own.yaml"


def test_a_profile_is_a_file_of_ones_own_by_name_or_path(tmp_path: Path) -> None:
    own = in_folder(
        tmp_path / "lab",
        {
            "own.yaml": SMALL.replace("name: one", "name: one\n    link: fios").replace(
                "count: 2", "count: 2, profile: ../board.yaml, failures: [odd, sub/even.yaml]"
            ),
            "profiles/links/fios.yaml": "up: {rate: 1mbit}",
            "../board.yaml": "{cpu: 150%, memory: 1GiB}",
            "../scenarios/profiles/failures/odd.yaml": "faults: [{kind: crash, every: 5min}]",
            "sub/even.yaml": "faults: [{kind: partition, every: 1min, lasts: 1s}]",
        },
    )
    one, pair, _ = load(own).nodes
    assert one.link == Link(up=Side(rate=Rate(1e6)))  # before the shipped one of that name
    assert (pair.profile, pair.cpu, pair.memory) == ("board", 1.5, 1 << 30)
    assert [profile.name for profile in pair.failures] == ["odd", "even"]


def test_a_mistake_in_a_profile_names_the_profiles_file_once(tmp_path: Path) -> None:
    own = in_folder(
        tmp_path,
        {
            "own.yaml": SMALL.replace("name: one", "name: one\n    link: bad").replace(
                "count: 2", "count: 2, link: bad, profile: broken, failures: [empty]"
            ),
            "profiles/links/bad.yaml": "description: 3\nup:\n  rate: 10Mbps\n  dleay: 3ms\n",
            "profiles/devices/broken.yaml": "cpu: [",
            "profiles/failures/empty.yaml": "",
        },
    )
    with pytest.raises(ScenarioError) as error:
        load(own)
    folder = tmp_path / "profiles"
    assert str(error.value).split("\n") == [
        f"{folder}/devices/broken.yaml:1: this is not YAML: expected the node content, but found "
        "'<stream end>' (column 7)",
        f"{folder}/failures/empty.yaml:1: a failure profile is a mapping",
        f"{folder}/links/bad.yaml:1: description: is not text",
        f"{folder}/links/bad.yaml:3: up.rate: '10Mbps': write 10mbit",
        f"{folder}/links/bad.yaml:4: up.dleay: no such key (did you mean 'delay'?)",
    ]


# -- what is said of a wrong file -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: small", "", "scenario:1: name: is missing: what its runs are filed under."),
        ("name: small", "nmae: small", "scenario:1: nmae: no such key (did you mean 'name'?)"),
        ("name: small", "name: a/b", "scenario:1: name: 'a/b' must serve as a folder's name"),
        ("name: small", "name: ..", "name: '..' must serve as a folder's name"),
        ("name: small", "name: 7", "name: 7 is not text"),
        ("name: small", "name: small\nseed: 1.5", "scenario:2: seed: 1.5 is not a whole number"),
        ("name: small", "name: small\nseed: true", "seed: true is not a whole number"),
        (
            "name: small",
            "name: small\nname: x",
            "scenario:2: name: is written twice (first on line 1)",
        ),
        (
            "name: small",
            "name: small\nname: [",
            "scenario:4: this is not YAML: expected ',' or ']'",
        ),
        ("name: small", "name: small\n\tx: 1", "scenario:2: this is not YAML: a tab where YAML"),
        ("name: small", "name: !x small", "scenario:1: name: the tag !x has no meaning here"),
        ("name: small", "name: &x [*x]", "name[0]: an anchor that holds itself has no end"),
        ("dataset: digits", "", "training.dataset: is missing: the images or texts to"),
        (
            "dataset: digits",
            "dataset: digts",
            "'digts' is not mnist or fashion-mnist or digits or sentences (did",
        ),
        (
            "dataset: digits",
            "dataset: mnist",
            "'digits-mlp' takes images of 8 × 8, in 10 classes; 'mnist' has images of 28 × 28, "
            "in 10 classes: use mnist-cnn or mnist-lenet or mnist-mlp",
        ),
        (
            "dataset: digits",
            "dataset: sentences",
            "'digits-mlp' takes images of 8 × 8, in 10 classes; 'sentences' has texts of 50 "
            "characters, out of 32: use char-lstm",
        ),
        (
            "dataset: digits",
            "dataset: sentences\n  split: shards",
            "training.split: 'shards' goes by an example's class, and those of 'sentences' have",
        ),
        (
            "dataset: digits",
            "dataset: sentences\n  split: {kind: dirichlet, alpha: 1}",
            "training.split: 'dirichlet' goes by an example's class",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: dgc, keep: 1%}\n  error_feedback: true",
            "training.error_feedback: 'dgc': it remembers by itself what it has not sent: leave",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: randomk, keep: 1%}\n  error_feedback: true",
            "'randomk': it would scale what is fed back: write unbiased: false",
        ),
        (
            "algorithm: asgd",
            "codec: {kind: qsgd, levels: 200}\n  error_feedback: true",
            "training.codec: levels is 200: write a number from 1 to 127",
        ),
        (
            "asgd",
            "signsgd\n  optimizer: adam",
            "training.optimizer: 'signsgd' says it already",
        ),
        (
            "asgd",
            "asgd\n  optimizer: {kind: adam, beta1: 1}",
            "training.optimizer: beta1 is 1: it is at least 0, below 1",
        ),
        (
            "asgd",
            "asgd\n  optimizer: momentun",
            "(did you mean 'momentum'?)",
        ),
        (
            "algorithm: asgd",
            "codec: dense\n  synchronization: {kind: fedavg, clients: 0%}",
            "training.synchronization: clients is 0%: write a share above 0% and up to 100%",
        ),
        (
            "algorithm: asgd",
            "codec: dense\n  synchronization: {kind: softsync, splits: 4}",
            "training.synchronization.splits: 4 steps want a gradient each, there are 3 devices: "
            "write 3 or less",
        ),
        ("model: digits-mlp", "model: 3", "scenario:4: training.model: 3 is not text"),
        (
            "algorithm: asgd",
            "",
            "scenario:2: training: does not say how to train: give `algorithm`",
        ),
        ("asgd", "asgdd", "training.algorithm: 'asgdd' is not asgd or ada-sgd"),
        ("asgd", "[1]", "training.algorithm: a list is not asgd or"),
        ("asgd", "asgd\n  codec: dense", "scenario:6: training.codec: 'asgd' says it already"),
        ("asgd", "asgd\n  modulation: constant", "training.modulation: 'asgd' says it already"),
        ("asgd", "asgd\n  batch_size: 0", "training.batch_size: 0 is not at least 1"),
        ("asgd", "asgd\n  batch_size: '8'", "training.batch_size: '8' is not a whole number"),
        ("asgd", "asgd\n  batch_size:", "batch_size: is empty: it must be a whole number"),
        ("asgd", "asgd\n  learning_rate: 0", "training.learning_rate: 0 is not above 0"),
        ("asgd", "asgd\n  learning_rate: .inf", "training.learning_rate: inf is not a finite"),
        ("asgd", "asgd\n  learning_rate: .nan", "training.learning_rate: nan is not a finite"),
        (
            "asgd",
            "asgd\n  split: idd",
            "training.split: 'idd' is not iid or shards or dirichlet (did",
        ),
        ("asgd", "asgd\n  split: {kind: shard}", "split.kind: 'shard' is not iid or shards"),
        (
            "asgd",
            "asgd\n  split: {kind: shards, per: 2}",
            "split.per: no such key: there are kind, per_device",
        ),
        ("asgd", "asgd\n  split: {}", "training.split: a mapping without a `kind`"),
        ("asgd", "asgd\n  split: {kind: dirichlet, alpha: 0}", "training.split: alpha is 0"),
        (
            "algorithm: asgd",
            "codec: topk",
            "'topk' needs more than its name: write {kind: topk, keep",
        ),
        ("algorithm: asgd", "codec: {kind: topk}", "training.codec.keep: is missing"),
        (
            "algorithm: asgd",
            "codec: {kind: topk, keep: 1}",
            "codec.keep: 1 has no unit: write it in %",
        ),
        ("algorithm: asgd", "codec: {kind: topk, keep: 0%}", "training.codec: keep is 0%"),
        ("stop: {updates: 10}", "", "stop: is missing: when the run ends"),
        ("{updates: 10}", "{}", "scenario:6: stop: is empty: say when"),
        ("{updates: 10}", "{updates: 0}", "stop.updates: 0 is not at least 1"),
        ("{updates: 10}", "{accuracy: 97}", "stop.accuracy: 97 has no unit"),
        ("{updates: 10}", "{accuracy: 970%}", "stop.accuracy: '970%' is more than 100%"),
        ("{updates: 10}", "{time: 0s}", "stop.time: 0s: it must be above zero"),
        ("{updates: 10}", "{time: 5m}", "stop.time: '5m': write 5min"),
        ("stop:", "evaluate: {every: 0}\nstop:", "scenario:6: evaluate.every: 0 is not at least 1"),
        ("stop:", "server: {encrypt: yes}\nstop:", "server.encrypt: 'yes' is not true or false"),
        (
            "stop:",
            "server: {link: fioss}\nstop:",
            "'fioss' is no link preset (did you mean 'fios'?)",
        ),
        ("stop:", "server: {checkpoint: 30s}\nstop:", "server.checkpoint: '30s' is not a mapping"),
        ("name: one", "count: 1", "scenario:8: devices[0].name: is missing: the device's name"),
        (
            "name: one",
            "name: One",
            "devices[0].name: 'One': a name is of a-z, 0-9 and inner hyphens",
        ),
        ("name: one", "name: one-", "devices[0].name: 'one-': a name is of"),
        ("name: one", "name: server", "devices[0].name: 'server' is the name of another role"),
        ("name: one", f"name: {'x' * 41}", "is longer than 40 characters"),
        ("{name: pair", f"{{name: {'x' * 39}", "is longer than 40 characters"),
        (
            "name: one",
            "name: pair",
            "scenario:9: devices[1].name: 'pair' is the name of devices[0]",
        ),
        ("name: one", "name: pair-1", "devices[1].name: 'pair-1' is the name of devices[0] too"),
        ("count: 2", "count: 0", "scenario:9: devices[1].count: 0 is not at least 1"),
        ("count: 2", "count: 1000000000", "devices[1].count: 1000000000 is not at most 10000"),
        ("count: 2", "cuont: 2", "devices[1].cuont: no such key (did you mean 'count'?)"),
        ("count: 2", "profile: lptop", "'lptop' is no device profile (did you mean 'laptop'?)"),
        ("count: 2", "profile: {memory: 1MiB}", "devices[1].profile: memory 1MiB is too small"),
        ("count: 2", "profile: {cpu: 0.1%}", "devices[1].profile: cpu 0.1% is too small"),
        (
            "count: 2",
            "link: nowhere/x.yaml",
            "'nowhere/x.yaml' is no link preset: there is no file",
        ),
        (
            "count: 2",
            "link: {up: {rate: 10Mbps}}",
            "devices[1].link.up.rate: '10Mbps': write 10mbit",
        ),
        ("count: 2", "link: {up: {delay: 25}}", "devices[1].link.up.delay: 25 has no unit"),
        (
            "count: 2",
            "link: {up: {jitter: 1ms}}",
            "devices[1].link.up: jitter 1ms is above its delay",
        ),
        ("count: 2", "failures: [x]", "'x' is no failure profile: there are"),
        ("count: 2", "failures: flaky-home", "devices[1].failures: 'flaky-home' is not a list"),
        (
            "count: 2",
            "failures: [flaky-home, flaky-home]",
            "two failure profiles are named 'flaky-",
        ),
        ("  - name: one\n", "  - 7\n", "scenario:8: devices[0]: 7 is not a mapping"),
        (SMALL[SMALL.index("  - name") :], "  []", "devices: is empty: name at least one device"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_remedy(old: str, new: str, message: str) -> None:
    found = mistakes((old, new))
    assert any(message in line for line in found), found


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "{kind: crash, nodes: [on], at: 1s}",
            "faults[0].nodes[0]: 'on' is no device (did you mean 'one",
        ),
        (
            "{kind: crash, nodes: [server], at: 1s}",
            "'server' is no device: faults strike devices only",
        ),
        ("{kind: crash, nodes: [], at: 1s}", "faults[0].nodes: is empty: say which devices"),
        ("{kind: crash, nodes: one, at: 1s}", "faults[0].nodes: 'one' is not a list"),
        (
            "{kind: crahs, nodes: [one], at: 1s}",
            "'crahs' is not crash or partition (did you mean 'cr",
        ),
        ("{kind: crash, nodes: [one]}", "faults[0].at: is missing: when, counted from"),
        ("{kind: crash, nodes: [one], at: 60}", "faults[0].at: 60 has no unit"),
        ("{kind: crash, nodes: [one], at: 1s, lats: 1s}", "no such key (did you mean 'lasts'?)"),
        ("{kind: crash, nodes: [one], at: 1s, every: 1s}", "faults[0].every: no such key"),
        ("{nodes: [one], at: 1s}", "faults[0]: a mapping without a `kind`"),
        ("crash", "faults[0]: 'crash' is not a mapping with a `kind`"),
    ],
)
def test_a_fault_that_cannot_be_aimed_is_refused(fault: str, message: str) -> None:
    found = mistakes(("stop:", f"faults: [{fault}]\nstop:"))
    assert len(found) == 1
    assert message in found[0]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("{kind: crash, every: {poison: 1s}}", "every: 'poison' is not fixed or exponential or"),
        ("{kind: crash, every: 5}", "faults[0].every: 5 has no unit"),
        ("{kind: crash, every: {uniform: [2s, 1s]}}", "uniform runs from 2s to 1s"),
        ("{kind: crash, every: {uniform: [2s]}}", "every.uniform"),
        ("{kind: crash, every: {lognormal: [2s, 1s]}}", "lognormal[1]: '1s' is not a number"),
        ("{kind: crash}", "say how often: `every` or `per_iteration` (neither found)"),
        ("{kind: crash, every: 1s, per_iteration: 1%}", "(both found)"),
        ("{kind: crash, every: 1s, nodes: [one]}", "faults[0].nodes: no such key"),
    ],
)
def test_a_failure_profile_that_cannot_be_drawn_is_refused(fault: str, message: str) -> None:
    failures = f"failures: [{{name: mine, faults: [{fault}]}}]"
    found = mistakes(("count: 2", failures))
    assert len(found) == 1
    assert found[0].startswith("scenario:9: devices[1].failures[0].faults[0]")
    assert message in found[0]


def test_all_mistakes_are_told_at_once_in_the_files_order() -> None:
    found = mistakes(
        ("name: small", "name: small\nsede: 3"),
        ("digits-mlp", "digits-mpl"),
        ("asgd", "asgd\n  codec: dense"),
        ("name: one", "name: pair"),
        ("count: 2", "link: {up: {rate: 1, delay: 1ms, jitter: 2ms}}"),
        ("stop:", "faults: [{kind: crash, nodes: [nobody], at: 1s}]\nstop:"),
        overrides=("devices[9].name=x",),
    )
    places = [line.split(": ")[:2] for line in found]
    assert places == [
        ["scenario:2", "sede"],
        ["scenario:5", "training.model"],
        ["scenario:7", "training.codec"],
        ["scenario:8", "faults[0].nodes[0]"],
        ["scenario:12", "devices[1].link.up.rate"],
        ["scenario:12", "devices[1].name"],
        ["--set devices[9].name=x", "devices has no entry [9]"],
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "a scenario is a mapping"),
        (b"- 1", "a scenario is a mapping"),
        (b"name: \xff", "is not text in UTF-8"),
        (b"[" * 1500, "is nested too deeply"),
        (b'name: "\\ud800"', "has characters that are no text"),
        (b"a: 1\n---\nb: 2", "expected a single document in the stream, but found another"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    file = tmp_path / "x.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ScenarioError, match=re.escape(message)) as error:
        load(file)
    assert str(error.value).startswith(str(file))


def addresses(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from addresses(value, (*here, key))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("1s"),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(at=st.sampled_from(list(addresses(WRITTEN))[1:]), value=ANYTHING)
def test_whatever_stands_in_a_file_it_is_a_scenario_or_a_scenario_error(
    at: tuple[Any, ...], value: Any
) -> None:
    data = copy.deepcopy(WRITTEN)
    holder = data
    for step in at[:-1]:
        holder = holder[step]
    holder[at[-1]] = value
    try:
        scenario = loads(json.dumps(data), folder=SCENARIOS)
    except ScenarioError as error:
        assert str(error)
    else:
        assert scenario.nodes


@settings(max_examples=100)
@given(text=st.text(alphabet="ab:-[]{}&*!|>'\"#%,?\n\t 1.e"))
@example("? [a]\n: b")
@example("<<: {name: x}")
@example("? {a: b}: c")
def test_whatever_text_it_is_a_scenario_error(text: str) -> None:
    with pytest.raises(ScenarioError):
        loads(text)


# -- overrides ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "get", "value"),
    [
        ("training.batch_size=32", lambda s: s.training.batch_size, 32),
        ("seed=-3", lambda s: s.seed, -3),
        (
            "training.split={kind: shards, per_device: 1}",
            lambda s: s.training.split,
            Shards(per_device=1),
        ),
        ("stop.time=5min", lambda s: s.stop.time, 300),
        ("stop.updates=", lambda s: s.stop.updates, None),
        ("server.checkpoint=", lambda s: s.server.checkpoint, None),
        ("server.checkpoint.every=5s", lambda s: s.server.checkpoint.every, 5),
        ("devices[1].link.up.rate=2mbit", lambda s: s.nodes[4].link.up.rate, 2e6),
        ("devices[0].count=1", lambda s: len(s.nodes), 5),
        ("devices[0].link=dial", lambda s: s.nodes[0].link.up.rate, 30e3),
        (
            "devices[0].link.up.rate=2mbit",
            lambda s: s.nodes[0].link.up,
            Side(Rate(2e6), Seconds(0.001)),
        ),
        (
            "devices[0].profile.memory=1GiB",
            lambda s: (s.nodes[0].cpu, s.nodes[0].memory),
            (0.4, 1 << 30),
        ),
        ("devices[1].failures=[]", lambda s: s.nodes[4].failures, ()),
        ("training.codec.keep=5%", lambda s: s.training.codec, TopK(Fraction(0.05))),
        ("faults=[]", lambda s: s.faults, ()),
    ],
)
def test_any_key_can_be_overridden(override: str, get: Any, value: object) -> None:
    assert get(load(FLAKY, [override])) == value


def test_overrides_are_applied_in_order_and_may_mend_the_file() -> None:
    overrides = ("training.algorithm=null", "training.codec=dense", "training.modulation=staleness")
    assert small(overrides=overrides).training.algorithm == "ada-sgd"
    unsaid = ("algorithm: asgd", "batch_size: 5")
    assert small(unsaid, overrides=("training.codec.kind=dense",)).training.codec == Dense()
    assert small(overrides=("seed=1", "seed=2")).seed == 2
    assert small(("asgd", "nonsense"), overrides=("training.algorithm=adacomp",))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.batch_size=0", "training.batch_size: 0 is not at least 1"),
        ("training.batchsize=3", "training.batchsize: no such key (did you mean 'batch_size'?)"),
        ("trainng.batch_size=3", "trainng: no such key (did you mean 'training'?)"),
        ("devices[5].count=2", "devices has no entry [5]: it has 2"),
        ("devices.fiber.count=2", "devices is a list: say which entry, as devices[0]"),
        ("training[0]=2", "training is a mapping: say which key, as training.KEY"),
        ("seed.x=2", "seed is 7, which has no parts: set it whole"),
        ("devices[0].link=fioss", "'fioss' is no link preset (did you mean 'fios'?)"),
        ("training.codec=dense", "training.codec: 'adacomp' says it already"),
        ("server=", "server: is empty: it must be a mapping"),
        ("seed=[1", "this is not YAML: expected ',' or ']'"),
        ("seed", "write PATH=VALUE, as training.batch_size=32"),
        ("=3", "'' is no path to a value"),
        ("devices[x]=3", "'devices[x]' is no path to a value"),
    ],
)
def test_a_wrong_override_is_named_as_written(override: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load(FLAKY, [override])
    assert str(error.value).startswith(f"--set {override}: ")
    assert message in str(error.value)


# -- and back -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PLAYED, ids=lambda path: path.stem)
def test_every_scenario_here_loads_and_survives_the_way_to_a_run_folder(
    path: Path, tmp_path: Path
) -> None:
    assert path.read_text().startswith("# "), "a scenario opens with the question that it asks"
    scenario = load(path)
    copied = tmp_path / "scenario.yaml"
    copied.write_text(dump(scenario))
    again = load(copied)
    assert again == scenario
    assert again.nodes == scenario.nodes
    assert lines(timeline(again)) == lines(timeline(scenario))
    assert dump(again) == dump(scenario)
    assert yaml.safe_load(dump(scenario)) == yaml.safe_load(copied.read_text())


def test_a_dump_spells_out_names_and_units() -> None:
    written = yaml.safe_load(dump(load(FLAKY)))
    one = {"kind": "topk", "keep": "1%", "indices": "gap", "values": "f32"}
    assert one.items() <= written["training"]["codec"].items()
    assert "algorithm" not in written["training"]
    assert written["stop"] == {"updates": 3000, "accuracy": "97%", "time": "10min"}
    assert written["devices"][0]["profile"] == {"name": "laptop", "cpu": "40%", "memory": "512MiB"}
    assert written["devices"][1]["failures"][0]["name"] == "flaky-home"
    assert written["faults"][0]["nodes"] == ["adsl-0", "adsl-1"]


TIMES = st.integers(1, 10**7).map(lambda number: f"{number}us") | st.sampled_from(["1.5min", "3h"])
SHARES = st.integers(1, 10_000).map(lambda number: f"{number / 100}%")
LAWS = (
    TIMES
    | st.fixed_dictionaries({"exponential": TIMES})
    | TIMES.map(lambda time: {"uniform": [time, "20000s"]})
    | st.tuples(TIMES, st.floats(0.01, 10)).map(lambda pair: {"weibull": list(pair)})
    | st.tuples(TIMES, st.floats(0.01, 10)).map(lambda pair: {"lognormal": list(pair)})
)
SIDES = st.fixed_dictionaries(
    {},
    optional={
        "rate": st.integers(1, 10**9).map(lambda number: f"{number}bit"),
        "delay": TIMES,
        "loss": SHARES,
    },
)
LINKS = st.sampled_from(["fios", "2g", "dial"]) | st.fixed_dictionaries(
    {}, optional={"up": SIDES, "down": SIDES}
)
KIND = st.sampled_from(["crash", "partition"])
RECURRING = st.fixed_dictionaries(
    {"kind": KIND, "every": LAWS}, optional={"lasts": LAWS}
) | st.fixed_dictionaries({"kind": KIND, "per_iteration": SHARES}, optional={"lasts": LAWS})
WORDS = st.sampled_from(["no", "null", "1e3", "0x10", "12", "on", "a-b", "007", "y"])
GROUPS = st.lists(
    st.fixed_dictionaries(
        {"name": WORDS},
        optional={
            "count": st.integers(1, 3),
            "profile": st.sampled_from(["laptop", "phone"])
            | st.fixed_dictionaries({}, optional={"cpu": SHARES, "memory": st.just("1.5GiB")}),
            "link": LINKS,
            "failures": st.lists(RECURRING, min_size=1, max_size=2).map(
                lambda faults: [{"name": "mine", "faults": faults}, "flaky-home"]
            ),
        },
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda group: group["name"],
)
PARTS = st.fixed_dictionaries(
    {"codec": SHARES.map(lambda keep: {"kind": "topk", "keep": keep}) | st.just("dense")},
    optional={
        "modulation": st.sampled_from(["constant", "staleness", "per-parameter"]),
        "synchronization": st.builds(
            lambda kind, time: {"kind": kind, "patience": time},
            st.sampled_from(["barrier", "bounded", "fedavg", "local-sgd"]),
            TIMES,
        ),
        "optimizer": st.floats(-0.99, 0.99).map(lambda m: {"kind": "momentum", "momentum": m})
        | st.sampled_from(["sgd", "adam"]),
        "learning_rate": st.floats(1e-300, 1e300),
        "error_feedback": st.booleans(),
    },
) | st.sampled_from([{"algorithm": name} for name in ALGORITHMS])


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    groups = draw(GROUPS)
    names = [group["name"] for group in groups]
    aimed = st.fixed_dictionaries(
        {"kind": KIND, "nodes": st.lists(st.sampled_from(names), min_size=1), "at": TIMES},
        optional={"lasts": TIMES},
    )
    return {
        "name": draw(WORDS),
        "seed": draw(st.integers(-(10**9), 10**9)),
        "training": {"dataset": "digits", "model": "digits-mlp", **draw(PARTS)},
        "stop": draw(st.sampled_from([{"time": "2h"}, {"accuracy": "97.5%"}, {"updates": 1}])),
        "server": {"link": draw(LINKS), "checkpoint": {"every": draw(TIMES)}},
        "devices": groups,
        "faults": draw(st.lists(aimed, max_size=3)),
    }


@settings(max_examples=30, deadline=None)
@given(written=scenarios())
def test_a_dumped_scenario_is_the_same_scenario(written: dict[str, Any]) -> None:
    try:
        scenario = loads(json.dumps(written), folder=SCENARIOS)
    except ScenarioError as error:
        assert "too small to be given" in str(error)  # a share of a core below 1%
        return
    assert loads(dump(scenario), folder="/") == scenario
    assert accepts(schema(), written)
    assert accepts(schema(), yaml.safe_load(dump(scenario)))


# -- the timeline ---------------------------------------------------------------------------------


def planned(text: str, **changes: str) -> list[tuple[float, str, str]]:
    """Of a small world with these faults: when, which verb, whom."""
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
    assert lines(timeline(first)) == lines(timeline(again))
    assert lines(timeline(first)) != lines(timeline(other))
    times = [{timed.at for timed in recurring(first, name)} for name in ("adsl-0", "adsl-1")]
    assert not times[0] & times[1]


def test_a_timeline_is_these_very_bytes() -> None:
    """Golden: a change here changes what every seed means."""
    scenario = load(FLAKY, ["stop.time=110s"])
    assert lines(timeline(scenario)) == (
        '{"at": 60.0, "verb": "sever", "node": "adsl-0", "fault": "partition"}\n'
        '{"at": 60.0, "verb": "sever", "node": "adsl-1", "fault": "partition"}\n'
        '{"at": 80.0, "verb": "mend", "node": "adsl-0", "fault": "partition"}\n'
        '{"at": 80.0, "verb": "mend", "node": "adsl-1", "fault": "partition"}\n'
        '{"at": 105.321097, "verb": "sever", "node": "adsl-2", "fault": "partition"}\n'
    )


@settings(max_examples=30, deadline=None)
@given(written=scenarios())
def test_on_every_node_a_kinds_verbs_alternate_and_times_ascend(written: dict[str, Any]) -> None:
    try:
        timed = timeline(loads(json.dumps(written), folder=SCENARIOS))
    except ScenarioError as error:
        assert "too small" in str(error) or "more than 10,000 failures" in str(error)
        return
    assert [one.at for one in timed] == sorted(one.at for one in timed)
    state: dict[tuple[str, str], str] = {}
    undone = {"kill": "start", "sever": "mend"}
    for one in timed:
        key = (one.action.node, one.action.fault)
        expected = undone.get(state.get(key, ""), "") or next(
            verb for verb in undone if (verb == "kill") == (one.action.fault == "crash")
        )
        assert one.action.verb == expected
        state[key] = one.action.verb


def test_a_device_that_fails_beyond_all_measure_is_refused() -> None:
    failures = "failures: [{name: mine, faults: [{kind: crash, every: 1ms, lasts: 1ms}]}]"
    scenario = small(("count: 2", failures))
    with pytest.raises(ScenarioError, match=r"pair: failures: mine: faults\[0\]: more than 10,000"):
        timeline(scenario)


def test_per_iteration_faults_are_the_devices_to_draw() -> None:
    scenario = small(("count: 2", "count: 2, failures: [overheating-pi]"))
    assert timeline(scenario) == []
    one, pair, _ = scenario.nodes
    assert one.hazards == ()
    (hazard,) = pair.hazards
    assert hazard == {"kind": "crash", "per_iteration": 0.001, "lasts": {"uniform": [10.0, 30.0]}}
    assert json.loads(json.dumps(hazard)) == hazard


# -- what it asks of the host ---------------------------------------------------------------------


def test_demand_adds_up_what_the_devices_want() -> None:
    wanted = demand(load(FLAKY))
    assert (wanted.cores, wanted.unlimited, wanted.ports) == (2.0, 0, 10)
    assert wanted.limits == 4 * (512 << 20) + 4 * (384 << 20)
    assert wanted.largest == 512 << 20
    more = demand(load(FLAKY, ["devices[0].count=5"]))
    assert more.memory - wanted.memory == 100 << 20  # what a worker takes, not what it may take
    assert demand(small()).unlimited == 3


ROOMY = Host(cores=64, memory=64 << 30)
WANTED = Demand(cores=2, unlimited=0, memory=3 << 30, limits=4 << 30, largest=1 << 30, ports=10)


@pytest.mark.parametrize(
    ("wanted", "host", "severity", "words"),
    [
        (WANTED, replace(ROOMY, memory=2 << 30), "error", "needs about 3GiB, this host has 2GiB"),
        (replace(WANTED, largest=1 << 40), ROOMY, "error", "one device may take 1024GiB"),
        (replace(WANTED, ports=1001), ROOMY, "error", "1,001 containers want a port each"),
        (replace(WANTED, cores=5), replace(ROOMY, cores=2), "warning", "2.5 times more than there"),
        (replace(WANTED, limits=1 << 40), ROOMY, "warning", "limits add up to 1024GiB"),
    ],
)
def test_a_shortfall_says_what_there_is_too_little_of(
    wanted: Demand, host: Host, severity: str, words: str
) -> None:
    (short,) = shortfalls(wanted, host)
    assert short.severity == severity
    assert short.fatal == (severity == "error")
    assert words in str(short)
    assert shortfalls(WANTED, ROOMY) == []


def test_the_world_is_a_table_that_json_can_hold() -> None:
    scenario = load(FLAKY, ["devices[1].failures=[flaky-home, overheating-pi]"])
    shown = world(scenario)
    rows = {row.name: row for row in shown.devices}
    assert rows["adsl-0"].up == "1mbit 25ms ±3ms 0.1% loss"
    assert (rows["fiber-0"].cpu, rows["fiber-0"].memory) == ("40%", "512MiB")
    assert rows["adsl-0"].failures == "flaky-home, overheating-pi"
    assert len(shown.faults) == len(outages(scenario)) > 2
    assert {row.node for row in shown.hazards} == {"adsl-0", "adsl-1", "adsl-2", "adsl-3"}
    assert shown.hazards[0].per_iteration == "0.1%"
    assert (world(small()).devices[0].cpu, world(small()).devices[0].up) == ("no quota", "unshaped")
    assert json.loads(json.dumps(shown.plain()))["faults"][0]["at"] == 60


# -- the JSON schema ------------------------------------------------------------------------------


TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def accepts(part: dict[str, Any], value: Any) -> bool:
    """Whether a JSON schema accepts the value; no more of the standard than our schema uses."""
    return all(check(part, value) for check in (_here, _mapping, _sequence, _unions))


def _here(part: dict[str, Any], value: Any) -> bool:
    if "$ref" in part and not accepts(schema()["$defs"][part["$ref"].split("/")[-1]], value):
        return False
    if "type" in part and (
        not isinstance(value, TYPES[part["type"]])
        or (isinstance(value, bool) and part["type"] != "boolean")
    ):
        return False
    return (
        value == part.get("const", value)
        and value in part.get("enum", [value])
        and ("pattern" not in part or re.search(part["pattern"], value) is not None)
        and ("minimum" not in part or value >= part["minimum"])
        and ("maximum" not in part or value <= part["maximum"])
        and ("exclusiveMinimum" not in part or value > part["exclusiveMinimum"])
    )


def _mapping(part: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    known = part.get("properties", {})
    return (
        all(key in value for key in part.get("required", ()))
        and (part.get("additionalProperties", True) or set(value) <= set(known))
        and all(accepts(known[key], one) for key, one in value.items() if key in known)
    )


def _sequence(part: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, list):
        return True
    first = part.get("prefixItems", [])
    return (
        part.get("minItems", 0) <= len(value) <= part.get("maxItems", math.inf)
        and all(map(accepts, first, value))
        and all(accepts(part.get("items", {}), one) for one in value[len(first) :])
    )


def _unions(part: dict[str, Any], value: Any) -> bool:
    matching = [accepts(one, value) for one in part.get("oneOf", ())]
    some = [accepts(one, value) for one in part.get("anyOf", ())]
    return ("oneOf" not in part or sum(matching) == 1) and ("anyOf" not in part or any(some))


@pytest.mark.parametrize("path", PLAYED, ids=lambda path: path.stem)
def test_the_schema_accepts_the_scenarios_here_as_written(path: Path) -> None:
    assert accepts(schema(), yaml.safe_load(path.read_text()))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("nmae",), "x"),
        (("training", "algorithm"), "adacmp"),
        (("training", "codec"), "dense"),
        (("training",), {"dataset": "mnist", "model": "mnist-cnn", "codec": "topk"}),
        (("training", "batch_size"), 0),
        (("training", "split"), {"kind": "shards", "per": 1}),
        (("stop",), {}),
        (("stop", "time"), 600),
        (("devices",), []),
        (("devices", 1, "link", "up", "rate"), "10Mbps"),
        (("faults", 0, "kind"), "crahs"),
        (("faults", 0, "every"), "1s"),
    ],
)
def test_the_schema_refuses_what_load_refuses(at: tuple[Any, ...], value: Any) -> None:
    data = copy.deepcopy(WRITTEN)
    holder = data
    for step in at[:-1]:
        holder = holder[step]
    holder[at[-1]] = value
    assert not accepts(schema(), data)
    with pytest.raises(ScenarioError):
        loads(json.dumps(data), folder=SCENARIOS)


def test_the_schema_describes_every_key() -> None:
    whole = json.loads(json.dumps(schema()))
    named = {at[-1]: at for at in addresses(whole) if len(at) > 1 and at[-2] == "properties"}
    for key in (
        *("name", "seed", "training", "evaluate", "stop", "server", "devices", "faults"),
        *("dataset", "model", "split", "batch_size", "learning_rate", "algorithm", "codec"),
        *(
            "modulation",
            "synchronization",
            "error_feedback",
            "every",
            "updates",
            "accuracy",
            "time",
        ),
        *("link", "checkpoint", "encrypt", "count", "profile", "failures", "cpu", "memory"),
        *("up", "down", "rate", "delay", "jitter", "loss", "kind", "nodes", "at", "lasts"),
        *("per_iteration", "exponential", "uniform", "weibull", "lognormal", "keep", "indices"),
    ):
        assert key in named, key
    for model in ("Scenario", "Training", "Stop", "Server", "Group", "DeviceProfile"):
        part = whole if model == "Scenario" else whole["$defs"][model]
        for key, about in part["properties"].items():
            assert "description" in about or "$ref" in about, f"{model}.{key}"


# -- the documentation -----------------------------------------------------------------------------

DOCS = SCENARIOS.parent / "docs"


def blocks(page: str) -> list[Any]:
    text = (DOCS / page).read_text()
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


def test_the_documented_scenario_runs_as_it_stands() -> None:
    whole, faults, preset = blocks("scenario.md")
    assert loads(json.dumps(whole)).name == "smallest-of-all"
    assert loads(json.dumps({**WRITTEN, **faults}), folder=SCENARIOS).faults
    shipped = yaml.safe_load((SCENARIOS / "profiles" / "links" / "fios.yaml").read_text())
    assert preset == shipped


def test_the_documented_failure_profile_can_be_used(tmp_path: Path) -> None:
    profile, devices = blocks("add-a-failure-profile.md")
    files = {
        "own.yaml": json.dumps({**WRITTEN, **devices, "faults": []}),
        "profiles/failures/night-shift.yaml": json.dumps(profile),
    }
    assert timeline(load(in_folder(tmp_path, files)))


def mappings(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from mappings(one)


def test_every_key_and_name_is_documented() -> None:
    words = set(re.findall(r"[\w-]+", (DOCS / "scenario.md").read_text()))
    keys = {key for part in mappings(schema()) for key in part.get("properties", {})}
    kinds = {part["const"] for part in mappings(schema()) if "const" in part}
    profiles = {file.stem for file in (SCENARIOS / "profiles").rglob("*.yaml")}
    assert not (keys | kinds | profiles) - words
