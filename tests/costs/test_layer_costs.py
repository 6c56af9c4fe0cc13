"""Costs of an iteration layer by layer, before anything was measured."""

import pytest

from emulator.codecs import Dense, TopK
from emulator.codecs.expected_update import expected_update
from emulator.core import wire
from emulator.core.wire.messages import ModelSegment
from emulator.costs.exchange import update_sizes
from emulator.costs.layer_costs import expected_costs
from emulator.learning import models
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
