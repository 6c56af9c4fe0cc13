"""The network of a run with bottlenecks, while other runs make theirs."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from emulator.errors import DeploymentError
from emulator.runtimes.docker.launching import SUBNETS, Launcher


class Networks:
    """An engine whose free subnets are taken by others `taken` times."""

    def __init__(self, taken: int) -> None:
        self.taken, self.made = taken, 0

    def create(self, ipam: Any = None, **options: Any) -> SimpleNamespace:
        if ipam is not None and self.taken:
            self.taken -= 1
            raise APIError("Pool overlaps with other one on this address space")
        self.made += ipam is None
        attrs = {"IPAM": {"Config": [{"Subnet": f"10.9.{self.made}.0/24"}]}}
        return SimpleNamespace(attrs=attrs, reload=lambda: None, remove=lambda: None)


def _launcher(taken: int) -> Launcher:
    made = Launcher.__new__(Launcher)
    world = SimpleNamespace(nodes=["server"], scenario=SimpleNamespace(name="x"))
    folder = SimpleNamespace(run="20260101-000000-abcdef", path="/x", name="x")
    made.__dict__ |= {
        "_client": SimpleNamespace(networks=Networks(taken)),
        "_network": "wan",
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
    made._world.nodes[:] = map(str, range(253))
    made.create_network()
    made._world.nodes.append("more")
    with pytest.raises(DeploymentError, match="addresses for 253 of 254 containers: set a larger"):
        made.create_network()
