"""Whether rounds fit into their patience, runs into their time, and boots into their time-out."""

from dataclasses import replace
from pathlib import Path

import pytest

from emulator.checks.deadlines import late_groups, too_short
from emulator.checks.finding import Situation, StepTime
from emulator.codecs import Dense
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
    result = late_groups(loads(PIS, overrides), StepTime(step, "virtual.step", step))
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

    def told() -> str:
        said = emulate("check", "--json", file)
        assert said.code == 0
        return " ".join(item["text"] for item in said.json["shortfalls"])

    (late,) = late_groups(loads(PIS), Situation(loads(PIS), "virtual").step)
    assert "(virtual.step)" in late.text and "longer than patience 5min" in late.text
    # containers take the time that they take
    assert "`emulate calibrate FILE` measures how long a mini-batch takes" in told()
    step = LogNormal((Seconds(0.03), 0.1))
    store(replace(FOUND, model="mnist-cnn", codec=calibration.described(Dense()), step=step))
    assert "(as calibrated on this host)" in told()


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
    (warning,) = too_short(loads(LORA, overrides), StepTime(0.03, "virtual.step", 0.03))
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
    scenario = loads(LORA, overrides)
    step = Situation(scenario, "virtual").step or StepTime(0.03, "as calibrated on this host", 0.03)
    assert too_short(scenario, step) == []


def test_containers_take_no_time_that_virtual_time_assumes() -> None:
    scenario = loads(LORA, ("virtual={step: 1h}", "devices[0].link=fios", "stop.time=30min"))
    assert Situation(scenario, "docker").step is None
    assert too_short(scenario, Situation(scenario, "docker").step) == []
    assert too_short(scenario, Situation(scenario, "virtual").step)


FASTER = "[{kind: degrade, at: 1s, nodes: [far-0], link: fios}]"
"""A fault that makes a link faster."""


@pytest.mark.parametrize(
    "fault",
    [
        f"faults={FASTER}",
        "devices[0].failures=[{name: f, faults: [{kind: degrade, at: 1s, link: fios}]}]",
    ],
)
def test_a_link_that_a_fault_makes_faster_counts_as_the_faster(fault: str) -> None:
    scenario = loads(LORA, (fault,))
    assert too_short(loads(LORA), None) and too_short(scenario, None) == []


def test_a_quota_s_budget_refills_while_a_device_waits_for_messages() -> None:
    """A step of 9 ms under a quota of 10 % takes 9 ms: the budget is 10 ms in each period."""
    far = "{up: {delay: 100ms}, down: {delay: 100ms}}"
    scenario = loads(
        LORA,
        (
            "training={dataset: digits, model: digits-mlp, codec: dense, "
            "synchronization: {kind: barrier, patience: 60ms}}",
            "stop={updates: 9}",
            f"devices=[{{name: slow, profile: {{cpu: 10%}}, link: {far}}}, "
            f"{{name: fast, link: {far}}}]",
        ),
    )
    assert late_groups(scenario, StepTime(0.009, "virtual.step", 0.009)) == []
    assert late_groups(scenario, StepTime(0.09, "virtual.step", 0.09))


def beginning(*devices: str) -> Scenario:
    return loads(
        "name: fleet\n"
        "training: {dataset: digits, model: digits-mlp, algorithm: adacomp}\n"
        f"stop: {{updates: 100}}\ndevices: [{', '.join(devices)}]\n"
    )
