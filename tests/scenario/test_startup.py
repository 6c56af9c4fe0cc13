"""How long `check` expects containers to take until all have said hello."""

from pathlib import Path

import pytest

from emulator.scenario import loads
from emulator.scenario.demand import startup_time
from emulator.scenario.model import Scenario
from tests.fakes.typed_commands import Emulate, scenario


def fleet(*devices: str) -> Scenario:
    return loads(
        "name: fleet\n"
        "training: {dataset: digits, model: digits-mlp, algorithm: adacomp}\n"
        f"stop: {{updates: 100}}\ndevices: [{', '.join(devices)}]\n"
    )


def test_many_containers_share_the_cores() -> None:
    hundred = fleet("{name: home, count: 98}")
    assert startup_time(hundred, cores=2) == pytest.approx(100 * 1.3 / 2)
    assert startup_time(hundred, cores=8) == pytest.approx(100 * 1.3 / 8)


def test_nobody_begins_before_the_slowest_device() -> None:
    slow = fleet("{name: home, count: 2}", "{name: far, profile: {cpu: 2%}}")
    assert startup_time(slow, cores=2) == pytest.approx(45.0)
    quick = fleet("{name: home, profile: {cpu: 400%}}")
    assert startup_time(quick, cores=64) == pytest.approx(0.9)  # it boots on one of its cores


def test_check_tells_how_long_it_takes(emulate: Emulate, tmp_path: Path, data: None) -> None:
    file = scenario(tmp_path, ("profile: phone", "profile: {cpu: 1%}"))
    result = emulate("check", file).out
    assert "6 containers, 1.3 s of a core each" in result
    assert "at least 90 s until all devices say hello" in result
    assert "near-0 and 2 more: with 1% of a core" in result
    assert emulate("check", "--json", file).json["startup"] == pytest.approx(90.0)
    virtual = emulate("check", file, "--on", "virtual").out
    assert "1.3 s of a core each" not in virtual
