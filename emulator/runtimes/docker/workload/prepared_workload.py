"""Writes the files that the sidecars of a workload read, and specifies their containers."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ....machine import kernel
from ....node import config
from ....runs.folder import RunFolder
from ....scenario import Device, Scenario
from ....scenario.sections.workload_section import WorkloadSection
from ....world.roles import SERVER
from ..configs import spec
from ..configs.container_settings import NOBODY, Means, congestion_of
from ..configs.node_networks import Addresses
from ..configs.sidecar_configs import SidecarConfigs
from ..network.ways import Ways


@dataclass(frozen=True)
class PreparedWorkload:
    """The files of a run's sidecars and gateways, and the specification of their containers."""

    scenario: Scenario
    folder: RunFolder
    configs: SidecarConfigs
    image: str
    """Id of the node image, from which sidecars are made."""
    programs: str
    """Id of the image of the programs."""
    files: int | None = None
    """Files that each process of the run may open; None: as many as the engine says."""
    lives: None = None
    """Earlier lives of the run: none, as no workload is resumed."""

    @property
    def workload(self) -> WorkloadSection:
        """The workload of the scenario, which has one."""
        if self.scenario.workload is None:
            raise TypeError("the scenario has no workload")
        return self.scenario.workload

    @property
    def servers(self) -> list[str]:
        """Name of the server, in a list."""
        return [SERVER]

    @property
    def nodes(self) -> list[str]:
        """Names of all sidecars and gateways."""
        return [SERVER, *self.gateways, *(device.name for device in self.scenario.nodes)]

    @property
    def gateways(self) -> list[str]:
        return [bottleneck.name for bottleneck in self.scenario.bottlenecks]

    @property
    def relays(self) -> list[str]:
        return []

    @property
    def last(self) -> list[str]:
        return []

    @property
    def output(self) -> Path:
        """Folder in which the conductor writes the run's log."""
        return self.folder.server

    def with_ways(self, addresses: Mapping[str, str]) -> "PreparedWorkload":
        """Return the same with packets of members that go through their gateways."""
        members = self.scenario.bottleneck_of
        ways = Ways({name: members[name].name for name in members}, addresses)
        return replace(self, configs=replace(self.configs, ways=ways))

    def write_server(self) -> None:
        """Write the configuration of the server's sidecar."""
        self._write(SERVER, self.configs.server())

    def write_nodes(self, addresses: Mapping[str, Addresses]) -> None:
        """Write the configurations of the devices' sidecars; `addresses` has the server's."""
        for device in self.scenario.nodes:
            self._write(device.name, self.configs.device(device, addresses[device.name]))

    def write_relays(self, server: str) -> None:
        """Write nothing: a workload has no relays."""

    def write_gateways(self) -> None:
        """Write the configurations of the gateways; the addresses of all nodes must be known."""
        for bottleneck in self.scenario.bottlenecks:
            self._write(bottleneck.name, self.configs.gateway(bottleneck))

    def _write(self, name: str, node: config.NodeConfig) -> None:
        config.write(node, self._file(name))

    def _file(self, name: str) -> Path:
        return self.folder.work / f"{name}.json"

    def container(
        self, name: str, network: str, labels: dict[str, str], device: Device | None = None
    ) -> spec.Container:
        """Return the specification of the sidecar or gateway `name`."""
        return spec.Container(
            node=name,
            image=self.image,
            network=network,
            labels=labels,
            mounts={str(config.PATH): self._file(name)},
            address=self.configs.ways.addresses.get(name),
            gateway=name in self.gateways,
            congestion=self._congestion,
            boxed=name in self.configs.networks.boxed,
            full_packets=name in self.configs.networks.filling and kernel.fills_packets(),
            files=self.files,
        )

    @cached_property
    def _congestion(self) -> str | None:
        return congestion_of(self.scenario)


def prepare_workload(
    scenario: Scenario, folder: RunFolder, means: Means, image: str, programs: str
) -> PreparedWorkload:
    """Create the folder of the run's log; return the files to write.

    `image` and `programs` are the ids of the images of sidecars and of programs.
    """
    configs = SidecarConfigs(scenario, means.backend, os.getuid() or NOBODY)
    folder.server.mkdir(exist_ok=True)
    return PreparedWorkload(scenario, folder, configs, image, programs, means.files)
