"""The networks of a run, while other runs make theirs."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from emulator.errors import DeploymentError
from emulator.runtimes.docker.engine.hosts import Hosts
from emulator.runtimes.docker.launching import SUBNETS, Launcher
from tests.runtimes.docker.engine.engine_answers import unlike


class Networks:
    """An engine whose free subnets are taken by others `taken` times."""

    def __init__(self, taken: int) -> None:
        self.taken, self.made = taken, 0
        self.names: list[str] = []

    def create(self, name: str, ipam: Any = None, **options: Any) -> SimpleNamespace:
        self.names.append(name)
        if ipam is not None and self.taken:
            self.taken -= 1
            raise APIError("Pool overlaps with other one on this address space")
        self.made += ipam is None
        attrs = {"IPAM": {"Config": [{"Subnet": f"10.9.{self.made}.0/24"}]}}
        return SimpleNamespace(attrs=attrs, reload=lambda: None, remove=lambda: None)


def test_made_up_networks_answer_as_the_engine_does() -> None:
    assert unlike(Networks(0).create("wan"), "attrs") == []


def _launcher(taken: int) -> Launcher:
    made = Launcher.__new__(Launcher)
    client: Any = SimpleNamespace(networks=Networks(taken))
    world = SimpleNamespace(
        nodes=["server"], servers=["server"], scenario=SimpleNamespace(name="x")
    )
    folder = SimpleNamespace(run="20260101-000000-abcdef", path="/x", name="x")
    made.__dict__ |= {
        "_client": client,
        "_hosts": Hosts.here(client),
        "_networks": ["wan"],
        "_bridges": {},
        "_world": world,
        "_folder": folder,
        "unanswered": set(),
        "_calls": ThreadPoolExecutor(1),
    }
    return made


def test_a_subnet_that_another_run_takes_meanwhile_is_left_to_it() -> None:
    assert _launcher(2).create_network_with_addresses() == {"server": "10.9.3.2"}


def test_an_engine_that_gives_every_subnet_away_is_named() -> None:
    with pytest.raises(DeploymentError, match="Pool overlaps"):
        _launcher(SUBNETS).create_network_with_addresses()


def test_a_subnet_without_room_for_all_nodes_is_refused_before_any_starts() -> None:
    made = _launcher(0)
    made._bridges.update(dict.fromkeys(map(str, range(252)), 0))
    made.create_networks()
    made._bridges["more"] = 0
    with pytest.raises(DeploymentError, match="addresses for 253 of 254 containers: set a larger"):
        made.create_networks()


def test_each_bridge_is_a_network_s_with_room_for_its_own_nodes() -> None:
    made = _launcher(0)
    made.__dict__["_networks"] = ["wan", "wan-2"]
    made._bridges.update({str(number): number // 252 for number in range(504)})
    made.create_networks()
    assert made._client.networks.names == ["wan", "wan-2"]


def test_each_node_is_told_the_address_of_the_server_on_its_own_network() -> None:
    made = _launcher(0)
    there = {"wan": {"IPAddress": "10.9.1.2"}, "wan-2": {"IPAddress": "10.9.2.2"}}
    attrs = {"NetworkSettings": {"Networks": there}}
    made.__dict__ |= {
        "_networks": ["wan", "wan-2"],
        "_bridges": {"evaluator": 0, "home-0": 0, "home-1": 1},
        "_servers": {"server": SimpleNamespace(attrs=attrs, reload=lambda: None)},
    }
    assert made.server_addresses() == {
        "evaluator": ["10.9.1.2"],
        "home-0": ["10.9.1.2"],
        "home-1": ["10.9.2.2"],
    }
