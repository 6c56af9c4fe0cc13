"""The lives of a workload's programs: each start of a container, its output and its end.

The engine closes the output of a container at its end, and a later start needs a connection of its
own. So each life has a name, under which its output is heard.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from docker.errors import NotFound

from ....scenario.sections.workload_section import DRIVER
from ....world.emulated_clock import UNDILATED
from ....world.roles import SERVER
from ..engine.client import refusals
from ..engine.hosts import Hosts
from ..engine.stdio import Stdio

LOOK = 0.01
"""Seconds between two looks whether a container whose output has ended has ended itself."""
LATE = 1.0
"""Seconds after which such a container counts as one that has closed its output, and goes on."""


class LifeEnd(NamedTuple):
    """The end of a life."""

    code: int
    """Exit code, negative for a signal."""
    cause: str
    """`limit` if the container's memory limit ended it, else empty."""


@dataclass
class _Container:
    """The container of a node's program."""

    id: str
    memory: int | None
    life: int = -1
    """Number of its last start, from 0; -1 before."""
    asked: bool = False
    """Whether the run itself ends the present life."""


class ProgramLives:
    """Starts programs, with their output attached, and tells how they ended."""

    def __init__(self, hosts: Hosts, stdio: Stdio) -> None:
        self._hosts, self._stdio = hosts, stdio
        self._containers: dict[str, _Container] = {}
        self._owners: dict[str, tuple[str, int]] = {}
        self.silent: dict[str, tuple[str, int]] = {}
        """Lives that have closed their output, and go on."""

    @property
    def nodes(self) -> list[str]:
        """The nodes with a container."""
        return list(self._containers)

    def created(self, node: str, container: str, memory: int | None) -> None:
        """Take the engine's id of the container of `node`, and its memory limit in bytes."""
        self._containers[node] = _Container(container, memory)

    def container(self, node: str) -> str:
        """Return the engine's id of the container of `node`."""
        return self._containers[node].id

    def memory(self, node: str) -> int | None:
        """Return the memory limit of the container of `node` in bytes."""
        return self._containers[node].memory

    def life(self, node: str) -> int:
        """Return the number of the last start of `node`, from 0."""
        return self._containers[node].life

    def start(self, node: str) -> str:
        """Start the container of `node`; return the name under which the output is to be heard.

        Several threads may call this, each with nodes of its own.
        """
        own, host = self._containers[node], self._hosts.of(beside(node))
        own.life, own.asked = own.life + 1, False
        name = f"{node}_life{own.life}"
        self._owners[name] = node, own.life
        self._stdio.open(host, name, own.id)  # before the start, so that no output is missed
        host.client.api.start(own.id)
        return name

    def asked(self, node: str) -> None:
        """Take that the run itself is about to end the present life of `node`."""
        self._containers[node].asked = True

    def owner(self, name: str) -> tuple[str, int] | None:
        """Return node and number of the life that is heard as `name`; None for other names."""
        return self._owners.get(name)

    def present(self, node: str, life: int) -> bool:
        """Return whether `life` is the last one of `node`, and no order of the run ends it."""
        own = self._containers[node]
        return life == own.life and not own.asked

    def ended(self, node: str, *, wait: float = LATE) -> LifeEnd | None:
        """Return how the container of `node`, whose output has ended, ended; None if it runs.

        Waits for the engine's word for up to `wait` seconds.
        """
        until = UNDILATED.now() + wait
        while (state := self._state(node))["Running"]:
            if UNDILATED.now() >= until:
                return None
            UNDILATED.sleep(LOOK)
        code = int(state["ExitCode"])
        return LifeEnd(128 - code if 128 < code < 192 else code, "limit" * bool(state["OOMKilled"]))

    def _state(self, node: str) -> dict[str, Any]:
        api = self._hosts.of(beside(node)).client.api
        with refusals(f"looking at the program of {node}"):
            try:
                return dict(api.inspect_container(self.container(node))["State"])
            except NotFound:
                return {"Running": False, "ExitCode": 137, "OOMKilled": False}


def beside(node: str) -> str:
    """Return the node at whose host the program of `node` runs: the driver's is the server's."""
    return SERVER if node == DRIVER else node
