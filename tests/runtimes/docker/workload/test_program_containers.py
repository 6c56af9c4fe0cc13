"""The containers of a workload: of programs, without a right to their link, and of sidecars."""

from dataclasses import replace

import pytest

from emulator.node.config import ProgramRole
from emulator.runtimes.docker.configs.program_spec import ProgramContainer, program, program_name
from emulator.runtimes.docker.configs.sidecar_configs import SidecarConfigs
from emulator.scenario import loads
from emulator.scenario.sections.workload_section import ProgramPlace
from emulator.shaping.backend import Backend
from tests.fakes.runs.small_workload import own_workload
from tests.runtimes.docker.configs.pair_configs import DELAYED, TEXT, configs

SCENARIO = own_workload(("mounts: {/etc/own: .}", "mounts: {/etc/own: /tmp}"))
MARKS = {"emulate.run": "1a2b3c", "emulate.role": "program"}
PLACE = ProgramPlace("10.0.0.2", "home-1", 1, 3, 7)


def made(node: str, memory: int | None = None) -> dict[str, object]:
    assert SCENARIO.workload is not None
    wanted = ProgramContainer(node, "sha256:0", MARKS, memory)
    return program(wanted, SCENARIO.workload, replace(PLACE, name=node))


def test_a_program_joins_its_sidecar_and_has_no_right_to_the_link() -> None:
    assert made("home-1", 1 << 28) == {
        "image": "sha256:0",
        "name": "emulate-1a2b3c-home-1_program",
        "labels": MARKS,
        "command": ["join", "10.0.0.2:7000", "as home-1", "1"],
        "environment": {},
        "network_mode": "container:emulate-1a2b3c-home-1",
        "cap_drop": ["NET_RAW"],
        "security_opt": ["no-new-privileges"],
        "pids_limit": 4096,
        "mounts": [{"Type": "bind", "Target": "/etc/own", "Source": "/tmp", "ReadOnly": True}],
        "cpu_shares": 1024,
        "log_config": {"Type": "none", "Config": {}},
        "stdin_open": False,
        "auto_remove": False,
        "mem_limit": 1 << 28,
        "memswap_limit": 1 << 28,
    }


def test_the_driver_is_beside_the_server_and_no_device_can_have_a_programs_name() -> None:
    assert made("driver")["network_mode"] == made("server")["network_mode"]
    assert made("server")["environment"] == {"SEED": "7"}
    assert not {"mem_limit", "cap_add", "privileged"} & made("server").keys()
    assert program_name("1a2b3c", "home").endswith("_program")


@pytest.mark.parametrize("backend", [DELAYED, Backend(rate="tbf", delay="packets", cut="nftables")])
def test_a_sidecar_makes_the_link_that_a_supervisor_of_a_training_makes(backend: Backend) -> None:
    training = configs(
        backend, TEXT.replace("kind: crash, per_iteration: 1%", "kind: crash, at: 1s")
    )
    start = TEXT.index("training:"), TEXT.index("stop:")
    text = TEXT[: start[0]] + "workload: {image: a, server: {}, device: {}}\n" + TEXT[start[1] :]
    text = text.replace("updates: 100, accuracy: 97%, ", "").replace(
        ", checkpoint: {every: 30s}", ""
    )
    text = text.replace("kind: crash, per_iteration: 1%", "kind: crash, at: 1s")
    scenario = loads(text)
    sidecars = SidecarConfigs(scenario, backend, 65534)
    for device in scenario.nodes:
        given = sidecars.device(device, ["10.0.0.2"])
        assert given.network == training.device(device, ["10.0.0.2"]).network
        assert given.part == ProgramRole(device=True, server="10.0.0.2")
    assert sidecars.server().network == training.server().network
    one, other = sidecars.networks, training.networks
    assert (one.boxed, one.filling) == (other.boxed, other.filling)
