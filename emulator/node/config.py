"""The configuration of a container: one JSON file, mounted read-only, with all in base units.

The process that deploys a run reads the scenario once and writes one such file for each node, so a
device carries neither YAML nor a validator, and holds no secret but its own.
"""

import signal
from pathlib import Path

import msgspec

from ..core.heartbeat import Heartbeat
from ..core.plan import Plain, Plan, WorkerPlan
from ..shaping.command import Command
from ..transport.secrets import AllowList, Secret

PATH = Path("/etc/emulate/node.json")
SHARD = Path("/data")
GRAPH = Path("/graph")
OUTPUT = Path("/output")
PORT = 5555
ENDINGS = {"canceled": signal.SIGTERM, "stopped": signal.SIGUSR1}
"""The signal that ends a server, by the reason that its log gives as the run's."""


class Network(msgspec.Struct, frozen=True):
    """The commands that give this node its link, cut it off, and let it through again."""

    shape: list[Command] = []
    sever: list[Command] = []
    mend: list[Command] = []


class Delay(msgspec.Struct, frozen=True):
    """How long received messages are held, in seconds, where the kernel cannot delay packets."""

    delay: float = 0.0
    jitter: float = 0.0


class ServerAddress(msgspec.Struct, frozen=True):
    """How a node reaches the server."""

    address: str
    secret: Secret
    heartbeat: Heartbeat
    patience: float
    """Seconds that an answer may take before the question is asked again."""
    hold: Delay = Delay()


class WorkerRole(msgspec.Struct, frozen=True, tag="worker"):
    """A device that computes gradients on its own shard."""

    connection: ServerAddress
    plan: WorkerPlan
    hazards: list[Plain] = []
    """Faults that the device draws once an iteration, as `Device.hazards` holds them."""


class EvaluatorRole(msgspec.Struct, frozen=True, tag="evaluator"):
    """The peer that measures the model on the test set."""

    connection: ServerAddress
    seed: int


class ServerRole(msgspec.Struct, frozen=True, tag="server"):
    """The parameter server."""

    guests: AllowList
    heartbeat: Heartbeat
    plan: Plan
    holds: dict[str, Delay] = {}
    """Delay and jitter with which messages of each node are held, by the node's name."""
    gathering: float | None = None
    """Seconds from its start that the server waits for all hellos; None: the conductor waits."""


class NodeConfig(msgspec.Struct, frozen=True):
    """One container's part in a run."""

    name: str
    user: int
    """The unprivileged user and group that the part runs as."""
    part: WorkerRole | EvaluatorRole | ServerRole
    network: Network = Network()


def read(path: Path = PATH) -> NodeConfig:
    return msgspec.json.decode(path.read_bytes(), type=NodeConfig)


def write(node: NodeConfig, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(node)))
