"""The congestion control of containers: choice, refusal with a remedy, kernel parameter."""

from pathlib import Path

import pytest

from emulator.checks.preflight import preflight
from emulator.machine import kernel
from emulator.runtimes.docker.configs import spec
from emulator.runtimes.docker.configs.container_settings import Prepared
from emulator.scenario import dump, loads
from tests.fakes.small_scenario import mistakes, small
from tests.runtimes.docker.configs.pair_configs import configs


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose default is bbr, and which allows containers reno only."""
    for name, words in {
        "tcp_congestion_control": "bbr",
        "tcp_allowed_congestion_control": "reno",
        "tcp_available_congestion_control": "reno cubic bbr",
    }.items():
        (tmp_path / name).write_text(words + "\n")
    monkeypatch.setattr(kernel, "PARAMETERS", tmp_path)


def _refused(control: str) -> list[str]:
    scenario = small(overrides=(f"tcp={{congestion: {control}}}",))
    refusals = preflight(scenario, "docker", split_by=lambda _: None).refusals
    return [str(error) for error in refusals if "congestion" in str(error)]


def test_what_containers_may_have_is_the_default_and_what_is_allowed() -> None:
    assert kernel.congestion_choices() == ["bbr", "reno"]
    assert _refused("reno") == _refused("bbr") == []


def test_a_refusal_names_the_command() -> None:
    assert _refused("cubic") == [
        "tcp.congestion: this host does not allow cubic to containers: as root, "
        "`sysctl -w net.ipv4.tcp_allowed_congestion_control='reno cubic'`"
    ]


def test_a_module_must_be_loaded_first(tmp_path: Path) -> None:
    (tmp_path / "tcp_available_congestion_control").write_text("reno bbr\n")
    assert "`modprobe tcp_cubic`, then `sysctl -w" in _refused("cubic")[0]


def test_virtual_time_refuses_none() -> None:
    scenario = small(overrides=("tcp={congestion: cubic}",))
    assert preflight(scenario, "virtual", split_by=lambda _: None).refusals == ()


@pytest.mark.parametrize(("control", "set_"), [("reno", "reno"), ("bbr", None), (None, None)])
def test_every_container_gets_the_choice_unless_it_is_the_default(
    tmp_path: Path, control: str | None, set_: str | None
) -> None:
    given = () if control is None else (f"tcp={{congestion: {control}}}",)
    scenario = small(overrides=given)
    world = Prepared(scenario, None, configs(), "image", tmp_path)  # type: ignore[arg-type]
    assert world._congestion == set_
    wanted = spec.Container("far", "image", "net", {"emulate.run": "r"}, {}, congestion=set_)
    sysctls = spec.container(wanted)["sysctls"]
    assert sysctls.get("net.ipv4.tcp_congestion_control") == set_
    assert sysctls["net.ipv4.tcp_orphan_retries"] == "1"


def test_a_scenario_is_written_and_read_back() -> None:
    assert "\ntcp:" not in dump(small())
    chosen = small(overrides=("tcp={congestion: bbr}",))
    assert loads(dump(chosen)).tcp == chosen.tcp


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "{congestion: cubik}",
            "scenario:6: tcp.congestion: 'cubik' (did you mean 'cubic'?) is not cubic or bb",
        ),
        ("{}", "scenario:6: tcp.congestion: is missing"),
    ],
)
def test_a_mistake_has_its_line(written: str, message: str) -> None:
    (line,) = mistakes(("stop:", f"tcp: {written}\nstop:"))
    assert message in line
