"""The ways of packets through the gateways of bottlenecks: addresses of containers, and routes.

The engine gives a container an address when it starts, and the server would learn too late where a
member is. So the containers of a run with bottlenecks have addresses before any of them starts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from itertools import islice
from typing import Any

from ....errors import DeploymentError
from ....shaping import gateway
from ....shaping.command import Command
from ....world.emulated_clock import UNDILATED
from ....world.roles import SERVER

SUBNET = 10.0
"""Seconds in which a new network has its addresses."""
LOOK = 0.05
_TAKEN = 1
"""Addresses at the begin of a network that the engine keeps for itself."""


@dataclass(frozen=True)
class Ways:
    """The routes of the nodes of a run. A run without bottlenecks has none."""

    gateways: Mapping[str, str] = field(default_factory=dict)
    """The gateway of each device that is behind a bottleneck, by name."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The address of each node; empty: the engine gives them."""

    def ends(self, name: str) -> list[str]:
        """Return the addresses of the server and of the devices behind the gateway `name`."""
        behind = [member for member, own in self.gateways.items() if own == name]
        return [self.addresses[node] for node in (SERVER, *behind)]

    def routes(self, node: str) -> list[Command]:
        """Return the commands that lead packets of `node` through the gateways."""
        if node == SERVER:
            return [
                gateway.route(self.addresses[member], self.addresses[name])
                for member, name in self.gateways.items()
            ]
        if node not in self.gateways:
            return []
        return [gateway.route(self.addresses[SERVER], self.addresses[self.gateways[node]])]


def subnet(network: Any) -> str:
    """Return the subnet that the engine has given to `network`.

    A swarm's managers give it a moment later. Raises DeploymentError if they do not.
    """
    for _ in range(round(SUBNET / LOOK)):
        network.reload()
        if given := network.attrs["IPAM"]["Config"]:
            return str(given[0]["Subnet"])
        UNDILATED.sleep(LOOK)
    raise DeploymentError(f"the engine has given the run's network no addresses in {SUBNET:.0f} s")


def room(subnet: str) -> int:
    """Return the number of containers that have addresses in `subnet`."""
    ends = 2  # the network's own address, and that of a broadcast
    return IPv4Network(subnet).num_addresses - ends - _TAKEN


def addresses(subnet: str, nodes: Iterable[str]) -> dict[str, str]:
    """Return an address in `subnet` for each of `nodes`. Raises DeploymentError without enough."""
    names = list(nodes)
    hosts = islice(IPv4Network(subnet).hosts(), _TAKEN, None)
    given = {name: str(address) for name, address in zip(names, hosts, strict=False)}
    if len(given) < len(names):
        raise DeploymentError(
            f"the run's network {subnet} has addresses for {len(given)} of {len(names)} "
            "containers: set a larger `size` in the engine's `default-address-pools` "
            "(/etc/docker/daemon.json), or play fewer devices"
        )
    return given
