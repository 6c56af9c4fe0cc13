"""How long `check` expects containers to take until all have said hello."""

from pathlib import Path

import pytest

from emulator.scenario import loads
from emulator.scenario.cores_and_memory import startup_time
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
    # the server, the evaluator and the fork server are executed
    taken = 3 * 1.3 + 98 * 0.55
    assert startup_time(hundred, cores=2) == pytest.approx(taken / 2)
    assert startup_time(hundred, cores=8) == pytest.approx(taken / 8)


def test_few_devices_and_those_with_little_memory_have_no_fork_server() -> None:
    assert startup_time(fleet("{name: home, count: 3}"), cores=2) == pytest.approx(5 * 1.3 / 2)
    small = fleet("{name: home, count: 8, profile: {memory: 128MiB}}")
    assert startup_time(small, cores=2) == pytest.approx(10 * 1.3 / 2)


@pytest.mark.parametrize("cpu", ["1%", "100%", "400%"])
def test_a_quota_does_not_slow_the_start_down(cpu: str) -> None:
    """It holds from the run's zero on, and a device boots on one core."""
    assert startup_time(fleet(f"{{name: far, profile: {{cpu: {cpu}}}}}"), cores=64) == 0.9


def test_check_tells_how_long_it_takes(emulate: Emulate, tmp_path: Path, data: None) -> None:
    file = scenario(tmp_path, ("profile: phone", "profile: {cpu: 1%}"))
    result = emulate("check", file).out
    assert "6 containers, 1.3 s of a core each" in result
    startup = emulate("check", "--json", file).json["startup"]
    assert f"at least {startup:.0f} s until all devices say hello" in result
    assert 0.9 <= startup < 10.0
    virtual = emulate("check", file, "--on", "virtual").out
    assert "1.3 s of a core each" not in virtual
