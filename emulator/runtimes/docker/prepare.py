"""What the containers of a run will read, laid down in the run's folder before they start."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ... import models
from ...datasets import shard
from ...node import config
from ...runs.data_split import DataSplit
from ...runs.folder import RunFolder
from ...runs.planning import plan
from ...scenario import Device, Scenario, demand
from ...shaping.backend import Backend
from ...transport.secrets import issue
from ...world.roles import EVALUATOR, SERVER
from . import spec
from .configs import Orders

NOBODY = 65534
"""Whom the parts run as when the conductor is root."""


@dataclass(frozen=True)
class Prepared:
    """A scenario on disk, and the containers that will read it."""

    scenario: Scenario
    folder: RunFolder
    orders: Orders
    image: str
    graph: Path

    @property
    def nodes(self) -> list[str]:
        return [SERVER, EVALUATOR, *(device.name for device in self.scenario.nodes)]

    @property
    def output(self) -> Path:
        """Where the server writes its log and the model."""
        return self.folder.server

    @cached_property
    def _shards(self) -> Path:
        return self.folder.work / "shards"

    def write_server(self, gathering: float | None = None) -> None:
        """`gathering`: see `Orders.server`."""
        self._write(SERVER, self.orders.server(gathering))

    def write_nodes(self, address: str) -> None:
        """What the others are told, once the server's address is known."""
        self._write(EVALUATOR, self.orders.evaluator(address))
        for device in self.scenario.nodes:
            self._write(device.name, self.orders.device(device, address))

    def _write(self, name: str, node: config.NodeConfig) -> None:
        config.write(node, self._file(name))

    def _file(self, name: str) -> Path:
        return self.folder.work / f"{name}.json"

    def container(
        self, name: str, network: str, labels: dict[str, str], device: Device | None = None
    ) -> spec.Container:
        mounts = {str(config.PATH): self._file(name)}
        if name == SERVER:
            mounts[str(config.OUTPUT)] = self.output
        else:
            mounts[str(config.GRAPH)] = self.graph
            mounts[str(config.SHARD)] = self._shards / name
        return spec.Container(
            node=name,
            image=self.image,
            network=network,
            labels=labels,
            mounts=mounts,
            cpu=device.cpu if device else None,
            memory=device.memory if device else self._limits[name],
        )

    @cached_property
    def _limits(self) -> dict[str, int]:
        """Bytes that the containers may take that are on no device."""
        wanted = demand(self.scenario)
        return {SERVER: wanted.server_limit, EVALUATOR: wanted.evaluator_limit}


def prepare(
    scenario: Scenario,
    folder: RunFolder,
    *,
    split: DataSplit,
    graph: Path,
    backend: Backend,
    image: str,
    tell: Callable[[str], None],
) -> Prepared:
    """Issue the secrets and lay everything down: the shards, and where the server may write."""
    model = models.find(scenario.training.model)
    names = [SERVER, EVALUATOR, *(device.name for device in scenario.nodes)]
    guests, secrets = issue(names[1:], encrypt=scenario.server.encrypt)
    user = os.getuid() or NOBODY
    planned = plan(scenario, split.examples)
    orders = Orders(scenario, planned, model.layout.size, guests, secrets, backend, user)
    world = Prepared(scenario, folder, orders, image, graph)
    tell("shards")
    _write_shards(split, folder.work / "shards")
    world.output.mkdir()
    if os.getuid() == 0:
        shutil.chown(world.output, user, user)
    return world


def _write_shards(split: DataSplit, shards: Path) -> None:
    """Each device's part of the training set in a folder of its own; the evaluator's is the test
    set."""
    for name, indices in split.parts.items():
        shard.write(shards / name, split.data.train.take(indices))
    shard.write(shards / EVALUATOR, split.data.test)
