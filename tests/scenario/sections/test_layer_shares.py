"""The shares of a step that layers take: relative times, divided by their sum."""

import pytest

from emulator.scenario import loads
from emulator.scenario.reading.dump import dump
from tests.fakes.small_scenario import small

LAYERS = (
    "name: small",
    "name: small\nvirtual: {layers: {forward: [1, 2, 1], backward: [2, 8, 2]}}",
)


def test_relative_times_become_parts_of_one_step() -> None:
    layers = small(LAYERS).virtual.layers
    assert layers is not None
    assert layers.parts == ((1 / 16, 1 / 8, 1 / 16), (1 / 8, 1 / 2, 1 / 8))


def test_parts_do_not_overflow() -> None:
    text = LAYERS[1].replace("[1, 2, 1]", "[1e308, 1e308, 0]").replace("[2, 8, 2]", "[1e308, 0, 0]")
    layers = small((LAYERS[0], text)).virtual.layers
    assert layers is not None
    assert layers.parts == (pytest.approx((1 / 3, 1 / 3, 0)), pytest.approx((1 / 3, 0, 0)))


def test_a_scenario_keeps_its_shares() -> None:
    scenario = small(LAYERS)
    assert loads(dump(scenario)) == scenario
