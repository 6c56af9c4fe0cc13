"""The layers' shares of a step: given, of a layer table, or calibrated on this host."""

import pytest

from emulator.costs import calibration
from emulator.costs.calibration import LayerSeconds
from emulator.costs.computing_times import layers_known, with_layers
from emulator.scenario.sections.layer_shares import LayerShares
from emulator.schedules import DynaComm
from tests.fakes.small_scenario import small

pytestmark = pytest.mark.usefixtures("calibration_cache")
SCENARIO = small(("algorithm: asgd", "algorithm: asgd\n  schedule: dynacomm"))
TIMES = LayerSeconds("here", "Some Processor", "digits-mlp", 10, (0.1, 0.2, 0.3), (0.2, 0.4, 0.6))


def test_missing_shares_are_the_calibrated_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not layers_known(SCENARIO)
    monkeypatch.setattr(calibration, "measure_layers", lambda *arguments: TIMES)
    shares = with_layers(SCENARIO, print).virtual.layers
    assert shares == LayerShares(forward=TIMES.forward, backward=TIMES.backward)
    assert layers_known(SCENARIO), "they are stored"


def test_given_shares_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "measure_layers", None)
    layers = LayerShares(forward=(1.0, 1.0, 1.0), backward=(2.0, 2.0, 2.0))
    virtual = SCENARIO.virtual.model_copy(update={"layers": layers})
    given = SCENARIO.model_copy(update={"virtual": virtual})
    assert layers_known(given)
    assert with_layers(given, print) is given


def test_whole_models_need_no_shares() -> None:
    assert small().training.schedule != DynaComm()
    assert layers_known(small())
