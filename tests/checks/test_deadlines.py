"""Whether rounds fit into their patience, runs into their time, and boots into their time-out."""

from dataclasses import replace
from pathlib import Path

import pytest

from emulator.checks.deadlines import late_groups, slow_starts, too_short
from emulator.checks.finding import StepTime
from emulator.codecs import Dense
from emulator.core.server.parameter_server import GATHERING
from emulator.costs import calibration
from emulator.costs.calibration import store
from emulator.scenario import Scenario, loads
from emulator.units import Seconds
from emulator.world.laws import LogNormal
from tests.fakes.made_up_calibration import FOUND
from tests.fakes.typed_commands import Emulate

pytestmark = pytest.mark.usefixtures("calibration_cache")


PIS = """
name: pis
training: {dataset: mnist, model: mnist-cnn, algorithm: fedavg}
stop: {time: 30min}
virtual: {learner: none, step: 30ms}
devices:
  - {name: pi, count: 5, profile: raspberry-pi-4, link: dsl}
"""


def warnings(*overrides: str, step: float = 0.03) -> list[str]:
    result = late_groups(loads(PIS, overrides), StepTime(step, "virtual.step"))
    assert not any(item.fatal for item in result)
    return [item.text for item in result]


def test_an_epoch_that_outlasts_a_round_is_told() -> None:
    """1,200 batches of 30 ms on a tenth of a core are 6 min; 1.7 MB up at 384 kbit/s 37 s."""
    (text,) = warnings()
    assert "pi: 1 epoch (1,200 mini-batches) take about 6min (virtual.step)" in text
    assert "their messages 46s, longer than patience 5min" in text


@pytest.mark.parametrize(
    "override",
    [
        "training.synchronization.patience=7min",
        "training.batch_size=20",
        "devices[0].count=10",
        "devices[0].profile={cpu: 20%}",
        "training.algorithm=asgd",
        "training={dataset: mnist, model: mnist-cnn, codec: dense, synchronization: local-sgd}",
    ],
)
def test_a_round_that_fits_is_not(override: str) -> None:
    assert warnings(override) == []


def test_a_step_keeps_one_core_busy_however_many_there_are() -> None:
    (text,) = warnings("devices[0].profile={cpu: 400%}", step=0.25)
    assert "take about 5min" in text


def test_local_steps_are_counted_as_they_are() -> None:
    rounds = "{kind: local-sgd, steps: 700}"
    training = f"{{dataset: mnist, model: mnist-cnn, codec: dense, synchronization: {rounds}}}"
    (text,) = warnings(f"training={training}")
    assert "pi: 700 mini-batches take about 3.5min" in text


def test_check_takes_the_step_from_the_scenario_or_the_calibration(
    emulate: Emulate, tmp_path: Path, data: None
) -> None:
    file = tmp_path / "pis.yaml"
    file.write_text(PIS)

    def told(*overrides: str) -> str:
        said = emulate("check", "--json", file, *overrides)
        assert said.code == 0
        return " ".join(item["text"] for item in said.json["shortfalls"])

    assert "longer than patience 5min" in told()
    unknown = ("--set", "virtual={}")
    assert "`emulate calibrate FILE` measures how long a mini-batch takes" in told(*unknown)
    step = LogNormal((Seconds(0.03), 0.1))
    store(replace(FOUND, model="mnist-cnn", codec=calibration.described(Dense()), step=step))
    assert "(as calibrated on this host)" in told(*unknown)


LORA = """
name: lora
training: {dataset: digits, model: digits-mlp, algorithm: asgd}
stop: {time: 1min}
devices:
  - {name: far, count: 5, link: lora}
"""
NEAR = ("devices=[{name: near, count: 5}]", "virtual.step=30ms")
"""Devices without links, whose steps take 30 ms."""
CUT = (
    "training={dataset: mnist, model: mnist-cnn, codec: dense, fully_connected: {place: server}}",
)


@pytest.mark.parametrize(
    "overrides, takes",
    [
        ((), "about 3.5min"),  # 68,904 bytes each way at 5.47 kbit/s, and 1.05 s of round trip
        (("training.pull={kind: delta, values: f16}",), "about 160s"),
        (("training.algorithm=adacomp",), "about 110s"),
        (("devices[0].link=fios", "server.link.up.rate=5kbit"), "about 2min"),
        (("devices[0].link=fios", "devices[0].profile={cpu: 1%}", "stop.time=2s"), "about 2.9s"),
    ],
)
def test_a_run_that_no_update_can_reach_is_told(overrides: tuple[str, ...], takes: str) -> None:
    (warning,) = too_short(loads(LORA, overrides), StepTime(0.03, "virtual.step"))
    assert not warning.fatal
    assert f"the first update of far takes {takes}" in warning.text


@pytest.mark.parametrize(
    "overrides",
    [
        ("stop.time=4min",),
        ("stop={updates: 10}",),
        ("devices=[{name: far, link: lora}, {name: near}]",),
        ("devices[0].link.up.steps=[{at: 1s, rate: 1mbit}]", "stop.time=2min"),
        ("devices[0].link=fios", "devices[0].profile={cpu: 1%}", "training.schedule=dynacomm"),
        (*NEAR, "devices[0].profile={cpu: 20%}", "stop.time=31ms"),  # a whole budget, and the next
        (*NEAR, "virtual.step={exponential: 30ms}", "stop.time=5ms"),
        (*NEAR, "virtual.step={uniform: [4ms, 56ms]}", "stop.time=5ms"),
        (*NEAR, *CUT, "stop.time=25ms"),  # the server computes a part of the step
        (
            *(*NEAR, "training.algorithm=fedavg", "stop.time=31ms"),
            "training.split={kind: quantity, alpha: 1}",
        ),
    ],
)
def test_a_run_with_an_update_in_time_is_not(overrides: tuple[str, ...]) -> None:
    assert too_short(loads(LORA, overrides), StepTime(0.03, "virtual.step")) == []


def beginning(*devices: str) -> Scenario:
    return loads(
        "name: fleet\n"
        "training: {dataset: digits, model: digits-mlp, algorithm: adacomp}\n"
        f"stop: {{updates: 100}}\ndevices: [{', '.join(devices)}]\n"
    )


def test_a_device_that_may_not_begin_in_time_is_warned_of() -> None:
    (result,) = slow_starts(beginning("{name: home}", "{name: far, profile: {cpu: 1%}}"), GATHERING)
    assert not result.fatal
    assert str(result) == (
        "cpu: far: with 1% of a core a device takes about 90 s to say hello, and the run fails if "
        "it has not within 120 s: give it 2% or more, or play the scenario in virtual time"
    )
    (result,) = slow_starts(beginning("{name: far, count: 3, profile: {cpu: 1.2%}}"), GATHERING)
    assert "cpu: far-0 and 2 more: with 1.2% of a core a device takes about 75 s" in str(result)
    assert slow_starts(beginning("{name: far, profile: {cpu: 2%}}"), GATHERING) == []
    assert slow_starts(beginning("{name: home, count: 1000}"), GATHERING) == []
