"""Writes the files that the containers of a run read: configurations, shards, secrets."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from ....costs.layer_costs import first_costs
from ....learning.datasets import shard
from ....learning.models import OwnModel
from ....machine import kernel
from ....machine.kernel import room_in_memory
from ....node import config
from ....runs.data_split import DataSplit
from ....runs.folder import RunFolder
from ....runs.planning import plan
from ....runs.plugin_sources import FOLDER, PluginSources, plugin_sources
from ....scenario import Device, Scenario, demand
from ....shaping.backend import Backend
from ....transport.secrets import AllowList, Keys, issue, issue_relayed
from ....world.emulated_clock import EmulatedClock
from ....world.roles import EVALUATOR, SERVER
from ....world.verbs import Setting
from ..earlier_lives import EarlierLives
from ..network.ways import Ways
from . import NodeConfigs, spec
from .node_networks import Addresses, NodeNetworks

NOBODY = 65534
"""User id of the nodes' processes when the conductor runs as root."""


@dataclass(frozen=True)
class Means:
    """The means of an engine and its kernel to play a scenario."""

    backend: Backend
    files: int | None = None
    """Files that each process of the run may open; None: as many as the engine says."""
    several: bool = False
    """Whether the run has several hosts, all with these means."""
    relays: Mapping[str, list[str]] = field(default_factory=dict)
    """The devices behind each relay, by its name."""


class RunConfigs(Protocol):
    """The configurations of the containers of a run, as far as a runtime looks at them."""

    @property
    def clock(self) -> EmulatedClock: ...
    @property
    def user(self) -> int: ...
    @property
    def networks(self) -> NodeNetworks: ...
    @property
    def forked(self) -> frozenset[str]: ...
    @property
    def relays(self) -> Mapping[str, Keys]: ...
    def received_delay(self, device: Device, setting: Setting | None) -> config.Delay: ...


class World(Protocol):
    """The files and specifications of a run's containers: of a training, or of a workload."""

    @property
    def scenario(self) -> Scenario: ...
    @property
    def configs(self) -> RunConfigs: ...
    @property
    def image(self) -> str: ...
    @property
    def files(self) -> int | None: ...
    @property
    def lives(self) -> EarlierLives | None: ...
    @property
    def nodes(self) -> list[str]: ...
    @property
    def servers(self) -> list[str]: ...
    @property
    def gateways(self) -> list[str]: ...
    @property
    def relays(self) -> list[str]: ...
    @property
    def last(self) -> list[str]:
        """Nodes that start behind the devices, beside them."""

    @property
    def output(self) -> Path: ...
    def with_ways(self, addresses: Mapping[str, str]) -> "World": ...
    def write_server(self) -> None: ...
    def write_gateways(self) -> None: ...
    def write_nodes(self, addresses: Mapping[str, Addresses]) -> None: ...
    def write_relays(self, server: str) -> None: ...
    def container(
        self, name: str, network: str, labels: dict[str, str], device: Device | None = None
    ) -> spec.Container: ...


@dataclass(frozen=True)
class Prepared:
    """The files of a run's containers, and the specification of each container."""

    scenario: Scenario
    folder: RunFolder
    configs: NodeConfigs
    image: str
    graph: Path
    lives: EarlierLives | None = None
    """The earlier lives of a run that is resumed."""
    sources: PluginSources = PluginSources()
    """Sources of the users' plugins of the run, which `Session.describe` has written."""
    files: int | None = None
    """Files that each process of the run may open; None: as many as the engine says."""

    @property
    def nodes(self) -> list[str]:
        devices = (device.name for device in self.scenario.nodes)
        return [*self.servers, EVALUATOR, *self.gateways, *self.relays, *devices]

    @property
    def servers(self) -> list[str]:
        """Names of the containers of the server, the one that leads first."""
        return self.configs.servers

    @property
    def gateways(self) -> list[str]:
        return [bottleneck.name for bottleneck in self.scenario.bottlenecks]

    @property
    def relays(self) -> list[str]:
        return list(self.configs.relays)

    @property
    def last(self) -> list[str]:
        """The evaluator, if it takes part."""
        evaluator = self.configs.plan.evaluator
        return [] if evaluator is None else [evaluator]

    def with_ways(self, addresses: Mapping[str, str]) -> "Prepared":
        """Return the same with packets of members that go through their gateways."""
        members = self.scenario.bottleneck_of
        ways = Ways({name: members[name].name for name in members}, addresses)
        return replace(self, configs=replace(self.configs, ways=ways))

    def by_hand(self) -> "Prepared":
        """Return the same for a run that no conductor lets begin."""
        configs = replace(self.configs, plan=self.configs.plan.by_hand())
        return replace(self, configs=configs)

    @property
    def boxed(self) -> bool:
        """Whether packets of any node pass the box."""
        return bool(self.configs.networks.boxed)

    @property
    def output(self) -> Path:
        """Folder to which the server writes the log and the model."""
        return self.folder.server

    @property
    def outputs(self) -> dict[str, Path]:
        """The folder of each container of the server, by its name: that of a shard which follows
        is for its durable state."""
        return {name: self.folder.shard(number) for number, name in enumerate(self.servers)}

    @property
    def _initial(self) -> Path:
        """The copy of the saved model that the server begins with."""
        return self.folder.work / "initial.npz"

    @cached_property
    def _shards(self) -> Path:
        return self.folder.work / "shards"

    def write_server(self, gathering: float | None = None) -> None:
        """Write the configuration of the server, or of each shard.

        `gathering` as in `NodeConfigs.server`.
        """
        if (initial := self.scenario.training.initial) is not None:
            # a copy, since the server's user may not be allowed to read the file itself
            shutil.copyfile(initial, self._initial)
        for number, name in enumerate(self.servers):
            self._write(name, self.configs.server(gathering, number))

    def write_nodes(self, addresses: Mapping[str, Addresses]) -> None:
        """Write the configurations of the other nodes; `addresses` has the server's for each, or
        those of its shards."""
        if self.configs.plan.evaluator is not None:
            self._write(EVALUATOR, self.configs.evaluator(addresses[EVALUATOR]))
        for device in self.scenario.nodes:
            self._write(device.name, self.configs.device(device, addresses[device.name]))

    def write_relays(self, server: str) -> None:
        """Write the configurations of the relays; `server` is the address of the server."""
        for name in self.relays:
            self._write(name, self.configs.relay(name, server))

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
        """Return the specification of the container of the node `name`.

        `device` holds its memory limit; None for all other nodes. Its CPU quota comes later, as it
        holds from the run's zero.
        """
        mounts = {str(config.PATH): self._file(name)}
        if self.sources and name not in (EVALUATOR, *self.gateways, *self.relays):
            mounts[str(config.PLUGINS)] = self.folder.path / FOLDER
        if name in self.servers:
            if name == SERVER or self.configs.plan.durability is not None:
                mounts[str(config.OUTPUT)] = self.outputs[name]
            if self.scenario.training.initial is not None:
                mounts[str(config.INITIAL)] = self._initial
            training = self.scenario.training
            if training.cut is not None or isinstance(training.network, OwnModel):
                mounts[str(config.GRAPH)] = self.graph
        elif name not in (*self.gateways, *self.relays):
            mounts[str(config.GRAPH)] = self.graph
            mounts[str(config.SHARD)] = self._shards / name
        return spec.Container(
            node=name,
            image=self.image,
            network=network,
            labels=labels,
            mounts=mounts,
            memory=device.memory if device else self._limits.get(name),
            address=self.configs.ways.addresses.get(name),
            gateway=name in self.gateways,
            congestion=self._congestion,
            kept=self._kept if name in self.scenario.keepers else 0,
            boxed=name in self.configs.networks.boxed,
            full_packets=name in self.configs.networks.filling and kernel.fills_packets(),
            files=self.files,
            shards=len(self.servers) > 1 and name in self.servers,
        )

    @cached_property
    def _congestion(self) -> str | None:
        return congestion_of(self.scenario)

    @property
    def _kept(self) -> int:
        """Bytes of two copies of a device's state: up to two f32 for each parameter, and slack."""
        return 2 * (8 * self.scenario.training.layout.size + 2**20)

    @cached_property
    def _limits(self) -> dict[str, int]:
        """Memory limits of the server's and the evaluator's containers, in bytes.

        If the run's folder is in memory, so are the server's log and durable state, and they count
        towards its limit. They end at the size of the file system, with the system's message.
        """
        needs, files = demand(self.scenario), room_in_memory(self.output)
        kept = files if self.configs.plan.durability is not None else 0
        shards = dict.fromkeys(self.servers, needs.server_limit + kept)
        return {**shards, SERVER: needs.server_limit + files, EVALUATOR: needs.evaluator_limit}


def congestion_of(scenario: Scenario) -> str | None:
    """Return the congestion control to set; None for the host's, which need not be allowed."""
    wanted = scenario.tcp.congestion if scenario.tcp else None
    return None if wanted is None or wanted == kernel.default_congestion() else wanted


def prepare(
    scenario: Scenario,
    folder: RunFolder,
    *,
    split: DataSplit,
    graph: Path,
    means: Means,
    image: str,
    forked: frozenset[str] = frozenset(),
    tell: Callable[[str], None],
) -> Prepared:
    """Issue the secrets, write the shards, and create the server's output folder.

    `graph`: folder of the exported model; `image`: id of the nodes' image; `forked` as of
    `NodeConfigs`; `tell` shows a step.
    """
    user = os.getuid() or NOBODY
    sources = plugin_sources(scenario, folder.path)
    places = {text: f"{config.PLUGINS}/{place}" for text, place in sources.places.items()}
    planned = plan(scenario, split.examples, contained=True).moved(places)
    members = [*filter(None, [planned.evaluator]), *planned.workers]
    guests: AllowList
    lists: Mapping[str, Keys] = {}
    if means.relays:
        guests, secrets, lists = issue_relayed(members, means.relays)
    else:
        guests, secrets = issue(members, encrypt=scenario.server.encrypt)
    size, priors = scenario.training.device_layout.size, first_costs(scenario, tell)
    people = guests, secrets, means.backend, user, priors
    configs = NodeConfigs(
        scenario, planned, size, *people, forked=forked, several=means.several, relays=lists
    )
    made = configs, image, graph
    world = Prepared(scenario, folder, *made, sources=sources, files=means.files)
    tell("shards")
    _write_shards(split, folder.work / "shards")
    for output in world.outputs.values() if planned.durability is not None else [world.output]:
        output.mkdir(exist_ok=True)  # a run that is resumed has its server's state there
        if os.getuid() == 0:
            shutil.chown(output, user, user)
    return world


def _write_shards(split: DataSplit, shards: Path) -> None:
    """Write the training examples of each device, and the test set of the evaluator.

    Each goes to a folder in `shards` named after the node.
    """
    for name, indices in split.parts.items():
        shard.write(shards / name, split.data.train.take(indices))
    shard.write(shards / EVALUATOR, split.data.test)
