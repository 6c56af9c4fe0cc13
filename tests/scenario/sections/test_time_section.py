"""The key `time.dilation`: what it takes, what it refuses, and who ignores it."""

import pytest

from emulator.errors import ScenarioError
from emulator.scenario import dump, loads
from emulator.scenario.unkept import unkept
from tests.fakes.small_scenario import small

TEXT = dump(small())


@pytest.mark.parametrize("value, dilation", [("1", 1.0), ("4", 4.0), ("2.5", 2.5), ("1000", 1000)])
def test_a_number_from_1(value: str, dilation: float) -> None:
    assert loads(f"{TEXT}time: {{dilation: {value}}}").dilation == dilation


@pytest.mark.parametrize("value", ["0.5", "0", "-4", "1001", ".inf", ".nan", "4x", "true", "fast"])
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(ScenarioError, match=r"time\.dilation: .* is not auto, or a number from 1"):
        loads(f"{TEXT}time: {{dilation: {value}}}")


def test_a_resolved_scenario_names_the_dilation_only_where_the_file_does() -> None:
    assert "dilation" not in TEXT
    for value in ("auto", "4.0"):
        scenario = loads(f"{TEXT}time: {{dilation: {value}}}")
        assert f"time: {{dilation: {value}}}" in dump(scenario)
        assert loads(dump(scenario)) == scenario


def test_virtual_time_says_that_it_ignores_the_key() -> None:
    scenario = loads(f"{TEXT}time: {{dilation: auto}}")
    (ignored,) = [each for each in unkept(scenario, "virtual") if "time" in str(each)]
    assert str(ignored).startswith("time.dilation: virtual time waits for no core of the host")
    assert not [each for each in unkept(scenario, "docker") if "time.dilation" in str(each)]
