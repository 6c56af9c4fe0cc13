"""Costs of an iteration layer by layer, before anything was measured."""

from collections.abc import Callable

import pytest

from emulator.codecs import Dense, TopK
from emulator.codecs.expected_update import expected_update
from emulator.core import wire
from emulator.core.wire.messages import ModelSegment
from emulator.costs import calibration
from emulator.costs.calibration import LayerSeconds
from emulator.costs.exchange import update_sizes
from emulator.costs.layer_costs import expected_costs, first_costs
from emulator.learning import models
from emulator.scenario import loads
from emulator.units import Fraction
from emulator.world.links.link import FRAME
from tests.fakes.small_scenario import small

LAYOUT = models.find("digits-mlp").layout
SCENARIO = small(
    (
        "name: small",
        "name: small\nvirtual: {step: {exponential: 20ms}, boot: 1s, "
        "layers: {forward: [1, 1, 2], backward: [2, 2, 2]}}\n"
        "server: {link: {up: {rate: 5mbit, delay: 1ms}, down: {setup: 3ms}}}",
    ),
    (
        "- name: one",
        "- {name: one, profile: {cpu: 20%}, link: {up: {rate: 1mbit, setup: 2ms, delay: 5ms}, "
        "down: {rate: 8mbit}}}",
    ),
)


def test_the_costs_of_a_device_follow_from_its_links_its_quota_and_the_shares() -> None:
    costs = expected_costs(SCENARIO, SCENARIO.devices[0], LAYOUT, (1.0, 2.0, 3.0))
    assert costs.forward == pytest.approx((0.01, 0.01, 0.02))
    assert costs.backward == pytest.approx((0.02, 0.02, 0.02))
    assert costs.push == (1.0, 2.0, 3.0)
    assert costs.pull == tuple(4 * LAYOUT.part((n, n)).size for n in (1, 2, 3))
    assert (costs.up.setup, costs.up.delay) == (pytest.approx(0.005), pytest.approx(0.005))
    assert costs.up.pace == pytest.approx(8 * FRAME / 1e6)
    assert (costs.down.setup, costs.down.delay) == (0, pytest.approx(0.001))
    assert costs.down.pace == pytest.approx(8 * FRAME / 5e6)  # the server's link is the slower


def test_a_head_is_the_part_of_a_segment_beside_its_parameters() -> None:
    costs = expected_costs(SCENARIO, SCENARIO.devices[1], LAYOUT, (0.0, 0.0, 0.0))
    theta = models.find("digits-mlp").initial(1)
    piece = ModelSegment(5000, 5000, (1, 3), theta)
    assert costs.head == wire.size(piece) - theta.nbytes


@pytest.mark.parametrize("kind", ["dense", "delta"])
def test_a_pull_in_half_precision_takes_half_the_bytes(kind: str) -> None:
    pull = f"algorithm: asgd\n  pull: {{kind: {kind}, values: f16}}"
    half = small(("algorithm: asgd", pull)).training.pull
    training = SCENARIO.training.model_copy(update={"pull": half})
    halved = SCENARIO.model_copy(update={"training": training})
    costs = expected_costs(halved, SCENARIO.devices[0], LAYOUT, (0.0, 0.0, 0.0))
    assert costs.pull == tuple(2 * LAYOUT.part((n, n)).size for n in (1, 2, 3))


def test_a_device_without_a_quota_has_a_whole_core() -> None:
    costs = expected_costs(SCENARIO, SCENARIO.devices[1], LAYOUT, (0.0, 0.0, 0.0))
    assert sum((*costs.forward, *costs.backward)) == pytest.approx(0.02)


def test_sizes_of_updates_are_those_of_the_frames() -> None:
    assert update_sizes(Dense(), LAYOUT) == tuple(4 * LAYOUT.part((n, n)).size for n in (1, 2, 3))
    codec = TopK(keep=Fraction(0.05))
    first = expected_update(codec, LAYOUT.part((1, 1)))
    assert update_sizes(codec, LAYOUT)[0] == sum(map(len, first))


TEXT = """
name: pair
training: {dataset: digits, model: digits-mlp, algorithm: asgd, batch_size: 20, schedule: dynacomm}
stop: {updates: 100}
virtual: {step: 7s, layers: {forward: [1, 1, 1], backward: [1, 1, 1]}}
devices:
  - name: near
    count: 2
  - name: far
    profile: {cpu: 20%, memory: 256MiB}
    link: {up: {rate: 1mbit, setup: 5ms}, down: {rate: 8mbit}}
"""
FORWARD, BACKWARD = (0.001, 0.002, 0.003), (0.002, 0.005, 0.004)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    asked = []

    def layer_seconds(model: str, batch_size: int, tell: Callable[[str], None]) -> LayerSeconds:
        asked.append((model, batch_size))
        return LayerSeconds("host", "processor", model, batch_size, FORWARD, BACKWARD)

    monkeypatch.setattr(calibration, "layer_seconds", layer_seconds)
    return asked


def test_first_plans_are_made_from_this_host_s_layers(measured: list[tuple[str, int]]) -> None:
    """And not from the assumptions of virtual time."""
    costs = first_costs(loads(TEXT), print)
    assert measured == [("digits-mlp", 20)]
    assert costs.keys() == {"near-0", "near-1", "far"}
    assert costs["near-0"].forward == pytest.approx(FORWARD)
    assert costs["far"].backward == pytest.approx([5 * time for time in BACKWARD])
    assert costs["near-0"].up.rate is None
    assert (costs["far"].up.setup, costs["far"].up.pace) == (0.005, 8 * FRAME / 1e6)


def test_whole_models_need_no_costs(measured: list[tuple[str, int]]) -> None:
    assert first_costs(loads(TEXT, ("training.schedule=sequential",)), print) == {}
    assert measured == []
