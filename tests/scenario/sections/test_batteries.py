"""A device has one battery: a second one is refused, with the places of both."""

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import loads
from tests.fakes.small_scenario import SCENARIOS

CELL = "{kind: energy, capacity: 10Wh, idle: 1W"
TEXT = """\
name: two
training: {{dataset: digits, model: digits-mlp, algorithm: asgd}}
stop: {{time: 1min}}
devices:
  - {{name: one}}
  - name: pair
    count: 2
    failures: [{profiles}]
faults: [{faults}]
"""


def load(faults: str = "", profiles: str = "") -> set[str]:
    return set(loads(TEXT.format(faults=faults, profiles=profiles), folder=SCENARIOS).batteries)


def test_each_device_may_have_a_battery() -> None:
    profile = f"{{name: own, faults: [{CELL}, count: 1}}]}}"
    assert len(load(f"{CELL}, nodes: [one]}}", profile)) == 2
    assert load(f"{CELL}, nodes: [one]}}, {CELL}, nodes: [pair]}}") == {"one", "pair-0", "pair-1"}


@pytest.mark.parametrize(
    ("faults", "profiles", "message"),
    [
        (
            f"{CELL}, nodes: [one]}}, {CELL}, nodes: all}}",
            "",
            r"scenario:9: faults\[1\]: gives one a second battery, beside that of faults\[0\] "
            r"\(scenario:9\): a device has one: leave one of the two out, or name other devices",
        ),
        (
            f"{CELL}, nodes: [pair-1]}}",
            f"{{name: own, faults: [{CELL}}}]}}",
            r"scenario:8: devices\[1\]\.failures\[0\]\.faults\[0\]: gives pair-1 a second battery, "
            r"beside that of faults\[0\] \(scenario:9\)",
        ),
        (
            "",
            f"{{name: own, faults: [{CELL}}}, {CELL}, share: 10%}}]}}",
            r"failures\[0\]\.faults\[1\]: gives pair-\d a second battery, beside that of "
            r"devices\[1\]\.failures\[0\]\.faults\[0\] \(scenario:8\)",
        ),
    ],
)
def test_a_second_battery_is_refused(faults: str, profiles: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(faults, profiles)
