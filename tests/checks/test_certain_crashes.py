"""Scenarios in which every device crashes in each iteration."""

import pytest

from emulator.checks.preflight import preflight
from emulator.errors import ScenarioError
from emulator.runs.conductor import idle_devices, none_left
from emulator.scenario import Scenario
from tests.fakes.small_scenario import small

CRASH = "{kind: crash, per_iteration: 100%, lasts: 2s}"
PAUSE = "{kind: pause, per_iteration: 1%, lasts: 2s}"
RARE = "{kind: crash, per_iteration: 99.9%, lasts: 2s}"
GOOD = "{kind: crash, per_iteration: 100%}"


def failing(one: str, pair: str, *overrides: str) -> Scenario:
    failures = ", failures: [{{name: mine, faults: [{}]}}]"
    return small(
        ("- name: one", "- {name: one" + failures.format(one) + "}"),
        ("count: 2", "count: 2" + failures.format(pair)),
        overrides=("virtual={learner: none, step: 1s, boot: 1s}", *overrides),
    )


def refusals(scenario: Scenario, on: str) -> list[str]:
    found = preflight(scenario, on, split_by=lambda _: None).refusals
    return [str(error) for error in found if isinstance(error, ScenarioError)]


@pytest.mark.parametrize("on", ["docker", "virtual"])
@pytest.mark.parametrize(
    ("one", "pair"), [(CRASH, CRASH), (GOOD, CRASH), (f"{RARE}, {CRASH}, {PAUSE}", CRASH)]
)
def test_a_run_without_an_iteration_is_refused(one: str, pair: str, on: str) -> None:
    (message,) = refusals(failing(one, pair), on)
    assert message.startswith("devices: every device crashes in each iteration")
    assert message.endswith("give stop.time, or a smaller chance")


@pytest.mark.parametrize(
    ("one", "pair"), [(GOOD, GOOD), (RARE, CRASH), (PAUSE, CRASH), (f"{PAUSE}, {CRASH}", CRASH)]
)
def test_a_run_with_an_iteration_or_an_end_is_not_refused(one: str, pair: str) -> None:
    assert refusals(failing(one, pair), "virtual") == []


def test_a_time_ends_a_run_without_an_iteration() -> None:
    assert refusals(failing(CRASH, CRASH, "stop.time=1min"), "virtual") == []


def test_devices_that_crash_in_each_iteration_and_boot_again_send_nothing() -> None:
    scenario = failing(GOOD, CRASH)
    assert idle_devices(scenario) == ["pair-0", "pair-1"]
    assert none_left(scenario, idle_devices(scenario)) == (
        "every device is down or cut off for good, or crashes in each iteration: pair-0, pair-1"
    )
    assert idle_devices(failing(RARE, f"{PAUSE}, {CRASH}")) == []
    assert idle_devices(failing(GOOD, CRASH, "stop.time=1min")) == []


def test_the_reason_for_the_end_names_pauses_where_there_are_any() -> None:
    assert none_left(failing(RARE, GOOD), []) == "every device is down or cut off for good"
    assert none_left(failing(RARE, PAUSE), []) == "every device is down, cut off or paused for good"
