"""Makes the configurations of the sidecars of a workload, one for each device and the server. Pure.

A sidecar makes the link of its node as the supervisor of a training does; the program of the node
runs in another container, in the sidecar's network.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ....node.config import Delay, GatewayRole, NodeConfig, ProgramRole
from ....scenario import Device, Scenario
from ....scenario.sections.devices import Bottleneck
from ....shaping.backend import Backend
from ....transport.secrets import Keys
from ....world.emulated_clock import UNDILATED, EmulatedClock
from ....world.roles import SERVER
from ....world.verbs import Setting
from ..network.ways import Ways
from .node_networks import Addresses, NodeNetworks


@dataclass(frozen=True)
class SidecarConfigs:
    """The configurations of the sidecars and gateways of one run, made on demand."""

    scenario: Scenario
    backend: Backend
    user: int
    """User id of processes that need no rights; a sidecar has none of them."""
    ways: Ways = field(default_factory=Ways)
    """The ways of packets through the gateways of bottlenecks."""
    clock: EmulatedClock = UNDILATED
    forked: frozenset[str] = frozenset()
    """Nodes with forked parts: none."""
    relays: Mapping[str, Keys] = field(default_factory=dict)
    """Relays between hosts: none."""
    servers: tuple[str, ...] = (SERVER,)

    @cached_property
    def networks(self) -> NodeNetworks:
        """The networks of the nodes."""
        return NodeNetworks(self.scenario, self.backend, self.ways)

    def server(self) -> NodeConfig:
        """Return the configuration of the server's sidecar."""
        role = ProgramRole(device=False)
        return NodeConfig(SERVER, self.user, role, self.networks.of_server())

    def device(self, device: Device, addresses: Addresses) -> NodeConfig:
        """Return the configuration of the sidecar of `device`; the server is at the first of
        `addresses`."""
        role = ProgramRole(
            device=True,
            server=addresses[0],
            battery=self.scenario.batteries.get(device.name),
        )
        network = self.networks.of_device(device.name, device.link, addresses)
        return NodeConfig(device.name, self.user, role, network, memory=device.memory)

    def gateway(self, bottleneck: Bottleneck) -> NodeConfig:
        """Return the configuration of the gateway of `bottleneck`."""
        network = self.networks.of_gateway(bottleneck)
        return NodeConfig(bottleneck.name, self.user, GatewayRole(), network)

    def received_delay(self, device: Device, setting: Setting | None) -> Delay:
        """Return no delay: no node holds messages of the programs back."""
        return Delay()
