"""Costs of the first plans of devices in containers."""

from collections.abc import Callable

import pytest

from emulator.costs import calibration
from emulator.costs.calibration import LayerSeconds
from emulator.costs.layer_costs import first_costs
from emulator.scenario import loads
from emulator.world.links.link import FRAME

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
