"""Scenarios: what a file comes to."""

import pytest

from emulator.codecs import Dense, TopK
from emulator.learning.datasets.split import Dirichlet, Iid, Shards
from emulator.learning.learners.local_training import LocalTraining
from emulator.modulation import Constant, PerParameter, Staleness
from emulator.optimizers import SGD, Adam, Momentum
from emulator.scenario import load
from emulator.scenario.algorithms import ALGORITHMS
from emulator.schedules import DynaComm, IBatch, LayerByLayer, Sequential
from emulator.synchronization import Asynchronous, Barrier, Bounded, FedAvg, LocalSGD, Softsync
from emulator.units import Fraction, Rate, Seconds
from emulator.world.links.link import Link, Side
from tests.fakes.small_scenario import FLAKY, small


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
    assert (training.optimizer, training.local) == (SGD(), LocalTraining(0.1))
    assert scenario.evaluate.every == 200
    assert (scenario.server.link, scenario.server.checkpoint) == (Link(), None)
    assert (scenario.server.encrypt, scenario.faults) == (False, ())
    item, *pair = scenario.nodes
    assert (item.name, item.cpu, item.link, item.failures) == ("one", None, Link(), ())
    assert [device.name for device in pair] == ["pair-0", "pair-1"]


def test_targets_are_told_in_their_order() -> None:
    assert small().targets == (0.9, 0.95, 0.97)
    assert small(("name: small", "name: small\ntargets: [70%, 50%, 70%]")).targets == (0.5, 0.7)


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
        ("schedule", "sequential", Sequential(), "asgd"),
        ("schedule", "layer-by-layer", LayerByLayer(), "asgd, layer-by-layer"),
        ("schedule", "ibatch", IBatch(), "asgd, ibatch"),
        ("schedule", "{kind: dynacomm, replan: 9}", DynaComm(9), "asgd, dynacomm"),
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
