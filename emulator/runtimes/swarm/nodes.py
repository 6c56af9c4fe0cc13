"""The nodes of a swarm, as its managers know them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from docker import DockerClient

from ...errors import HostError
from ..docker.engine.client import refusals
from ..docker.engine.endpoint import endpoint
from .agent import SOCKET

LABEL = "emulate.host"
"""Label of nodes by which scenarios name hosts."""
SOCKET_LABEL = "emulate.socket"
"""Label of nodes whose engine has its socket elsewhere: the path, in which Swarm replaces
placeholders such as `{{.Node.Hostname}}`. All nodes have to have the same."""

HOW = (
    "`docker swarm init` makes one of its engine, `emulate cluster up --local 3` makes one of "
    "three engines on this machine, for trying (docs/swarm.md)"
)


@dataclass(frozen=True)
class Node:
    """A node of the swarm that is ready for devices."""

    id: str
    name: str
    address: str
    cores: int
    memory: int
    label: str = ""
    socket: str = SOCKET

    @classmethod
    def read(cls, about: Mapping[str, Any]) -> "Node":
        """Return the node that the engine describes as `about`."""
        resources = about["Description"]["Resources"]
        spec = about["Spec"]
        labels = spec.get("Labels") or {}
        return cls(
            about["ID"],
            spec.get("Name") or about["Description"]["Hostname"],
            about["Status"]["Addr"],
            max(1, resources["NanoCPUs"] // 10**9),
            resources["MemoryBytes"],
            labels.get(LABEL, ""),
            labels.get(SOCKET_LABEL, SOCKET),
        )


def ready_nodes(client: DockerClient) -> tuple[Node, list[Node]]:
    """Return the node of this machine, and the other ones that are ready and active.

    Raises HostError if the engine is no manager of a swarm.
    """
    with refusals("asking the engine for its swarm"):
        swarm = client.info().get("Swarm") or {}
        if not swarm.get("ControlAvailable"):
            state = "a worker of one" if swarm.get("NodeID") else "in none"
            raise HostError(
                f"the engine at {endpoint()} has to be a manager of a swarm, and is {state}: {HOW}"
            )
        nodes = client.api.nodes()
    usable = [
        Node.read(node)
        for node in nodes
        if node["Status"]["State"] == "ready" and node["Spec"]["Availability"] == "active"
    ]
    own = swarm["NodeID"]
    if double := _double(usable):
        raise HostError(f"two nodes of the swarm have the name {double}: give each its own")
    home = next((node for node in usable if node.id == own), None)
    if home is None:
        raise HostError(f"the node of the engine at {endpoint()} is not active in its swarm")
    return home, sorted((node for node in usable if node.id != own), key=lambda node: node.name)


def manages(client: DockerClient) -> bool:
    """Return whether the engine is a manager of a swarm."""
    with refusals("asking the engine for its swarm"):
        return bool((client.info().get("Swarm") or {}).get("ControlAvailable"))


def unreachable_nodes(client: DockerClient) -> dict[str, str]:
    """Return, by name, in a word why each node runs no agent: `down`, `drained`, or `paused`."""
    found = {node.name: why for node, why in _unreachable(client)}
    return dict(sorted(found.items()))


def absent_hosts(client: DockerClient) -> dict[str, str]:
    """Return, by each word by which a scenario names a host that runs no agent, why it is none."""
    with refusals("asking the engine for its swarm"):
        return {
            word: f"host {node.name} is {why}"
            for node, why in _unreachable(client)
            for word in (node.label, node.name)
            if word
        }


def _unreachable(client: DockerClient) -> Iterator[tuple[Node, str]]:
    """Yield each node that runs no agent, and in a word why."""
    words = {"drain": "drained", "pause": "paused"}
    for about in client.api.nodes():
        state, availability = about["Status"]["State"], about["Spec"]["Availability"]
        if state != "ready":
            yield Node.read(about), state
        elif availability != "active":
            yield Node.read(about), words.get(availability, availability)


def _double(nodes: list[Node]) -> str:
    names = [node.name for node in nodes]
    return next((name for name in names if names.count(name) > 1), "")
