"""The hosts of a run: the engine of each, and where its containers find files and the time.

A run on this machine has one host. The runtime for several hosts adds others, which share a network
with it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from docker import DockerClient

from ....machine.host import Samples
from ....scenario import Scenario
from ..configs.spec import BOX, FORK_SERVER


class HostClock(NamedTuple):
    """The clock of another host beside this machine's, in seconds; None for this machine."""

    ahead: float | None = None
    error: float | None = None
    """By how much `ahead` may be wrong either way."""


class EngineHost:
    """A host with an engine; as it stands, this machine."""

    def __init__(self, client: DockerClient, name: str = "", *, word: str = "") -> None:
        """`name` is empty for this machine. `word` as of the attribute; by default the `name`."""
        self.client, self.name = client, name
        self.word = word or name
        """Name of the host in records and files, which its nodes' names do not have; empty in a run
        on one host."""
        self.load, self.cores = Samples(), 1
        """Load and cores of another host."""

    def place(self, source: Path, run: str) -> Path:
        """Return where the engine finds `source`, a file or folder of this machine that containers
        of `run` mount."""
        return source

    def at_home(self, reading: float) -> float:
        """Return the reading of this machine's monotonic clock when the host's was `reading`."""
        return reading

    def away(self, reading: float) -> float:
        """Return the reading of the host's monotonic clock when this machine's was `reading`."""
        return reading

    def forget(self, run: str) -> None:
        """Remove what `place` has put at the host for `run`; of this machine nothing."""

    @property
    def clock(self) -> "HostClock":
        """What is known of the host's clock."""
        return HostClock()

    @property
    def box(self) -> str:
        """Name of the host's packet box beside the names of nodes."""
        return self._own(BOX)

    @property
    def fork_server(self) -> str:
        """Name of the host's fork server beside the names of nodes."""
        return self._own(FORK_SERVER)

    def _own(self, role: str) -> str:
        return f"{role}@{self.name}" if self.name else role

    def lost(self) -> str:
        """Return why the host cannot be reached; empty if it can."""
        return ""


@dataclass(frozen=True, eq=False)
class Hosts:
    """The hosts of a run, until the context's end. Server, evaluator and gateways are at `home`,
    this machine."""

    home: EngineHost
    others: tuple[EngineHost, ...] = ()
    placed: Mapping[str, EngineHost] = field(default_factory=dict)
    """The host of each device that is not at home."""
    end: Callable[[], None] = lambda: None
    """Ends the connections to the `others`."""

    @classmethod
    def here(cls, client: DockerClient) -> "Hosts":
        """Return this machine alone, with the engine of `client`."""
        return cls(EngineHost(client))

    def __enter__(self) -> "Hosts":
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    @property
    def all(self) -> tuple[EngineHost, ...]:
        return (self.home, *self.others)

    @property
    def several(self) -> bool:
        """Whether the run's network has to join several hosts."""
        return bool(self.others)

    def devices(self, scenario: Scenario) -> dict[str, list[str]]:
        """Return the devices of each host by its word, `home` first; nothing in a run on one host.

        The manifest has them, too."""
        if not self.several:
            return {}
        names = [device.name for device in scenario.nodes]
        return {host.word: [name for name in names if self.of(name) is host] for host in self.all}

    def of(self, node: str) -> EngineHost:
        """Return the host of `node`, or of a host's own box or fork server."""
        if "@" in node:
            return next(host for host in self.others if node.endswith(f"@{host.name}"))
        return self.placed.get(node, self.home)


def at(host: EngineHost) -> str:
    """Return the words that name `host` in a sentence, if it is another one than this machine."""
    return f" at {host.name}" if host.name else ""
