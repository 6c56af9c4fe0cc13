"""Faults that never happen, or change nothing: `emulate check` tells of them."""

import pytest

from emulator.checks.faults import faults_in_vain
from emulator.scenario import loads

SCENARIO = """
name: vain
training: {{dataset: digits, model: digits-mlp, algorithm: adacomp}}
stop: {{time: 30s}}
devices: [{{name: a, count: 2}}]
faults: [{{{fault}}}]
"""
TRACE = "trace: ['on 0, off 10, on 15, end 20', 'on 0, off 5, end 10']"

VAIN = {
    "kind: pause, nodes: all, at: 40s, lasts: 1s": "begins at 40s or later",
    "kind: pause, nodes: all, at: 30s, lasts: 1s": "begins at 30s or later",
    "kind: pause, nodes: all, at: {uniform: [35s, 40s]}, lasts: 1s": "begins at 35s or later",
    "kind: crash, nodes: all, every: 1min, lasts: 1s": "begins at 1min or later",
    "kind: crash, nodes: all, every: 10s, between: [25s, end], lasts: 1s": "begins at 35s",
    "kind: crash, nodes: all, per_iteration: 0%, lasts: 1s": "per_iteration is 0%",
    "kind: pause, nodes: all, at: 4s, lasts: 0s": "lasts is 0s",
    "kind: corrupt, nodes: all, messages: 0%, at: 4s, lasts: 1s": "messages is 0%",
    "kind: churn, nodes: all, on: 5s, off: 0s": "off is 0s",
    "kind: energy, nodes: all, capacity: 5J": "draws nothing",
    f"kind: availability, nodes: all, start: 20h, {TRACE}": "no trace is longer than 20s",
}
FINE = (
    "kind: pause, nodes: all, at: 29s, lasts: 1s",
    "kind: corrupt, nodes: all, at: 1s, messages: 1%",
    "kind: churn, nodes: all, on: 5s, off: 1s",
    "kind: energy, nodes: all, capacity: 5J, idle: 1W",
    f"kind: availability, nodes: all, start: 20s, {TRACE}",
    "kind: crash, nodes: all, at: {exponential: 40s}, lasts: 1s",
)


def told(fault: str) -> list[str]:
    return [str(warning) for warning in faults_in_vain(loads(SCENARIO.format(fault=fault)))]


@pytest.mark.parametrize("fault", VAIN)
def test_a_fault_in_vain_is_told_with_its_place(fault: str) -> None:
    (text,) = told(fault)
    assert text.startswith("faults[0]: ") and VAIN[fault] in text


@pytest.mark.parametrize("fault", FINE)
def test_other_faults_are_not(fault: str) -> None:
    assert told(fault) == []


def test_the_faults_of_profiles_count_and_a_run_without_a_time_has_no_late_fault() -> None:
    scenario = SCENARIO.format(fault="kind: pause, nodes: all, at: 40s, lasts: 1s")
    assert faults_in_vain(loads(scenario.replace("time: 30s", "updates: 10"))) == []
    profile = "count: 2, failures: [{name: p, faults: [{kind: pause, at: 40s, lasts: 1s}]}]"
    inside = SCENARIO.format(fault="").replace("[{}]", "[]").replace("count: 2", profile)
    (warning,) = faults_in_vain(loads(inside))
    assert str(warning).startswith("devices[0].failures[0].faults[0]: begins at 40s")
