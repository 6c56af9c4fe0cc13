"""Computing times: of shares of a mini-batch, and of layers; given, dealt, or calibrated."""

from typing import Any

import pytest

from emulator.codecs import Dense
from emulator.costs import calibration
from emulator.costs.calibration import Calibration, LayerSeconds
from emulator.costs.computing_times import layers_known, step_times, with_layers
from emulator.costs.prediction import hardware_efficiency, prediction_facts
from emulator.errors import ScenarioError
from emulator.scenario import Scenario, loads
from emulator.scenario.sections.virtual_section import LayerShares
from emulator.schedules import DynaComm
from emulator.units import Seconds
from emulator.world.laws import Fixed, LogNormal
from tests.fakes.small_scenario import small

TEXT = """\
name: timed
training:
  {dataset: digits, model: digits-mlp, batch_size: 32, codec: dense,
   synchronization: {kind: groups, groups: 2}}
stop: {updates: 10}
devices: [{name: w, count: 4}]
"""


def scenario(*overrides: str) -> Scenario:
    return loads(TEXT, overrides)


def silent(step: str) -> None: ...


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes that were calibrated: 10 ms, and 1 ms for each example; 2 ms at the server."""
    sizes: list[int] = []

    def calibrated(model: str, size: int, codec: Dense, *_: object, **__: Any) -> Calibration:
        sizes.append(size)
        step = LogNormal((Seconds(0.01 + 0.001 * size), 0.1))
        times = {"step": step, "boot": Fixed(Seconds(1)), "serve": Fixed(Seconds(0.002))}
        return Calibration("host", "cpu", "2026-01-01", model, size, "dense", **times)

    monkeypatch.setattr(calibration, "calibrated", calibrated)
    return sizes


def test_a_share_takes_its_share_of_a_given_step() -> None:
    times = step_times(scenario("virtual.step=320ms"), [8], silent)
    assert times.of(8).mean == pytest.approx(0.08)
    assert times.serve == 0


def test_calibrated_medians_are_interpolated(measured: list[int]) -> None:
    times = step_times(scenario(), [8, 32], silent)
    assert measured == [8, 32]
    assert times.serve == 0.002
    law, share = times.of(8)
    assert share == 1
    assert law.mean == pytest.approx(LogNormal((Seconds(0.018), 0.1)).mean)
    law, share = times.of(16)
    assert isinstance(law, LogNormal)
    assert share * law.lognormal[0] == pytest.approx(0.026)


def test_containers_ignore_what_virtual_time_assumes(measured: list[int]) -> None:
    times = step_times(scenario("virtual={step: 9s, serve: 9s}"), [8], silent, assumed=False)
    assert (measured, times.serve) == ([8], 0.002)


def test_the_sizes_of_one_group_and_of_single_devices_are_calibrated(measured: list[int]) -> None:
    """The saturation point needs them; a run's own prediction does not."""
    efficiency = hardware_efficiency(scenario(), [2], silent)
    assert measured == [8, 16, 32]
    assert efficiency.predicted(4).formula < efficiency.predicted(1).formula
    measured.clear()
    facts = prediction_facts(scenario(), silent, assumed=False)
    assert measured == [16]
    assert facts["hardware_efficiency"]["groups"] == 2


def test_a_run_goes_on_without_a_prediction() -> None:
    told: list[str] = []
    assert prediction_facts(scenario("virtual={step: 0s}"), told.append, assumed=True) == {}
    assert "takes no time" in told[0]
    barrier = scenario("training.synchronization=barrier")
    assert prediction_facts(barrier, told.append, assumed=True) == {}
    assert len(told) == 1


def test_a_layer_table_needs_a_given_step() -> None:
    table = scenario("training.model={layers: vgg-19}", "virtual={learner: none, step: 1s}")
    with pytest.raises(ScenarioError, match="is a layer table"):
        step_times(table, [8], silent, assumed=False)


CUT_SEGMENTS = small(("algorithm: asgd", "algorithm: asgd\n  schedule: dynacomm"))
TIMES = LayerSeconds("here", "Some Processor", "digits-mlp", 10, (0.1, 0.2, 0.3), (0.2, 0.4, 0.6))


@pytest.mark.usefixtures("calibration_cache")
def test_missing_shares_are_the_calibrated_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not layers_known(CUT_SEGMENTS)
    monkeypatch.setattr(calibration, "measure_layers", lambda *arguments: TIMES)
    shares = with_layers(CUT_SEGMENTS, print).virtual.layers
    assert shares == LayerShares(forward=TIMES.forward, backward=TIMES.backward)
    assert layers_known(CUT_SEGMENTS), "they are stored"


@pytest.mark.usefixtures("calibration_cache")
def test_given_shares_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "measure_layers", None)
    layers = LayerShares(forward=(1.0, 1.0, 1.0), backward=(2.0, 2.0, 2.0))
    virtual = CUT_SEGMENTS.virtual.model_copy(update={"layers": layers})
    given = CUT_SEGMENTS.model_copy(update={"virtual": virtual})
    assert layers_known(given)
    assert with_layers(given, print) is given


@pytest.mark.usefixtures("calibration_cache")
def test_whole_models_need_no_shares() -> None:
    assert small().training.schedule != DynaComm()
    assert layers_known(small())
