"""The containers and networks that the engine is asked for, word for word, and Compose's beside."""

from dataclasses import replace

import pytest
import yaml

from emulator.node import config
from emulator.runtimes.docker.configs import spec
from emulator.scenario import demand, load
from emulator.world.roles import EVALUATOR, SERVER
from tests.layers import ROOT
from tests.runtimes.docker.configs.wanted_container import MARKS, WANTED


def test_a_container_word_for_word() -> None:
    assert spec.container(WANTED) == {
        "image": "sha256:1",
        "name": "emulate-abc123-far",
        "hostname": "far",
        "labels": {
            "emulate.run": "abc123",
            "emulate.scenario": "pair",
            "emulate.folder": "/runs/pair/1",
            "emulate.lock": "/locks/abc123",
            "emulate.role": "device",
            "emulate.device": "far",
        },
        "network": "emulate-abc123-wan",
        "cap_drop": ["ALL"],
        "cap_add": ["KILL", "NET_ADMIN", "SETGID", "SETUID"],
        "security_opt": ["no-new-privileges", "label=disable"],
        "userns_mode": "host",
        "cgroupns": "private",
        "read_only": True,
        "tmpfs": {"/tmp": "size=16m,mode=1777", "/run": "size=1m"},
        "mounts": [
            {
                "Type": "bind",
                "Target": "/etc/emulate/node.json",
                "Source": "/w/far.json",
                "ReadOnly": True,
            },
            {"Type": "bind", "Target": "/output", "Source": "/w/out", "ReadOnly": False},
        ],
        "pids_limit": 64,
        "sysctls": {"net.ipv4.tcp_orphan_retries": "1"},
        "ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "log_config": {"Type": "none", "Config": {}},
        "stdin_open": True,
        "auto_remove": True,
        "cpu_period": 100_000,
        "cpu_quota": 20_000,
        "mem_limit": 256 << 20,
        "memswap_limit": 256 << 20,
    }


def test_every_container_of_a_run_has_the_files_that_the_probe_had() -> None:
    limits = [
        {"Name": "core", "Soft": 0, "Hard": 0},
        {"Name": "nofile", "Soft": 1024, "Hard": 1024},
    ]
    assert spec.container(replace(WANTED, files=1024)) == {
        **spec.container(WANTED),
        "ulimits": limits,
    }
    box = spec.box("abc123", "sha256:1", MARKS, 7)
    assert spec.box("abc123", "sha256:1", MARKS, 7, 1024) == {**box, "ulimits": limits}


def test_devices_do_not_wait_for_what_is_on_no_device() -> None:
    shares = {
        node: spec.container(replace(WANTED, node=node)).get("cpu_shares", 1024)
        for node in (SERVER, EVALUATOR, "near")
    }
    assert shares[SERVER] >= 32 * shares["near"] >= 1024 * shares[EVALUATOR]


def test_a_node_behind_the_box_has_its_socket_and_the_device_of_taps() -> None:
    plain, behind = spec.container(WANTED), spec.container(replace(WANTED, boxed=True))
    folder = {
        "Type": "volume",
        "Target": "/box",
        "Source": "emulate-abc123-packet_box",
        "ReadOnly": False,
    }
    assert behind.pop("devices") == ["/dev/net/tun"]
    assert behind.pop("mounts") == [*plain.pop("mounts"), folder]
    assert behind == plain


def test_the_box_word_for_word() -> None:
    assert spec.box("abc123", "sha256:1", MARKS, 7) == {
        "image": "sha256:1",
        "name": "emulate-abc123-packet_box",
        "hostname": "box",
        "labels": MARKS,
        "entrypoint": ["python3", "-m", "emulator.node.link.box_life"],
        "command": ["--socket", "/box/socket", "--seed", "7"],
        "network_mode": "none",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", "label=disable"],
        "userns_mode": "host",
        "cgroupns": "private",
        "read_only": True,
        "mounts": [
            {
                "Type": "volume",
                "Target": "/box",
                "Source": "emulate-abc123-packet_box",
                "ReadOnly": False,
            },
        ],
        "pids_limit": 64,
        "cpu_shares": 262144,
        "ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "log_config": {"Type": "none", "Config": {}},
        "stdin_open": True,
        "auto_remove": True,
    }
    assert spec.box_volume("abc123", MARKS) == {
        "name": "emulate-abc123-packet_box",
        "driver": "local",
        "driver_opts": {"type": "tmpfs", "device": "tmpfs", "o": "size=64k,mode=0700"},
        "labels": MARKS,
    }


def test_the_fork_server_word_for_word() -> None:
    """Only its capabilities beyond a container's, and the host's processes, groups and filters."""
    server = {
        "image": "sha256:1",
        "name": "emulate-abc123-fork_server",
        "hostname": "forks",
        "labels": MARKS,
        "entrypoint": ["python3", "-m", "emulator.node.forking.fork_server"],
        "network_mode": "none",
        "cap_drop": ["ALL"],
        "cap_add": [
            *("KILL", "NET_ADMIN", "SETGID", "SETUID"),
            *("SETPCAP", "SYS_ADMIN", "SYS_CHROOT", "SYS_PTRACE"),
        ],
        "security_opt": ["no-new-privileges", "label=disable", "seccomp=unconfined"],
        "userns_mode": "host",
        "cgroupns": "host",
        "pid_mode": "host",
        "read_only": True,
        "mounts": [
            {
                "Type": "bind",
                "Target": "/host-cgroup",
                "Source": "/sys/fs/cgroup",
                "ReadOnly": False,
            },
        ],
        "ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "log_config": {"Type": "none", "Config": {}},
        "stdin_open": True,
        "auto_remove": True,
    }
    assert spec.fork_server("abc123", "sha256:1", MARKS) == server
    trial = spec.fork_trial("abc123", "sha256:1", MARKS)
    assert {key for key in trial if trial[key] != server.get(key)} == {
        *("command", "log_config", "stdin_open", "auto_remove")
    }
    assert trial["command"] == ["--try"]


def test_a_network_word_for_word() -> None:
    assert spec.network("emulate-abc123-wan", MARKS) == {
        "name": "emulate-abc123-wan",
        "driver": "bridge",
        "internal": True,
        "options": {
            "com.docker.network.bridge.inhibit_ipv4": "true",
            "com.docker.network.enable_ipv6": "false",
        },
        "labels": MARKS,
    }


def test_no_profile_no_limits() -> None:
    kwargs = spec.container(replace(WANTED, cpu=None, memory=None))
    assert {"cpu_period", "cpu_quota", "mem_limit", "memswap_limit"} & kwargs.keys() == set()


# -- the smallest world by hand --------------------------------------------------------------------

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_compose_has_every_node_of_its_scenario() -> None:
    devices = [device.name for device in load(ROOT / "scenarios" / "smallest.yaml").nodes]
    assert COMPOSE["services"].keys() == {SERVER, EVALUATOR, *devices}


def test_compose_makes_the_same_network() -> None:
    ours = spec.network("wan", MARKS)
    assert COMPOSE["networks"]["wan"] == {
        "internal": ours["internal"],
        "driver_opts": ours["options"],
    }


@pytest.mark.parametrize("name", ["server", "evaluator", "device-0", "device-1"])
def test_compose_makes_the_same_containers(name: str) -> None:
    scenario = load(ROOT / "scenarios" / "smallest.yaml")
    wanted = demand(scenario)
    limits = {device.name: device.memory for device in scenario.nodes}
    limits |= {SERVER: wanted.server_limit, EVALUATOR: wanted.evaluator_limit}
    service, ours = COMPOSE["services"][name], spec.container(replace(WANTED, node=name))
    assert service["mem_limit"] == service["memswap_limit"] == f"{limits[name] / 2**20:.0f}m"
    assert service.get("cpu_shares") == ours.get("cpu_shares")
    alike = ("cap_drop", "cap_add", "read_only", "security_opt", "pids_limit", "sysctls")
    for key in (*alike, "stdin_open", "userns_mode"):
        assert service[key] == ours[key]
    assert service["tmpfs"] == [f"{path}:{how}" for path, how in ours["tmpfs"].items()]
    targets = {volume.split(":")[1]: volume.endswith(":ro") for volume in service["volumes"]}
    assert [target for target, read_only in targets.items() if not read_only] == (
        [str(config.OUTPUT)] if name == "server" else []
    )
    others = {str(config.OUTPUT)} if name == "server" else {str(config.GRAPH), str(config.SHARD)}
    assert targets.keys() == {str(config.PATH), *others}
