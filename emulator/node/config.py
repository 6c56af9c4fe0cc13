"""What a container is told: one JSON file, mounted read-only, with all in base units.

Whoever deploys a run reads the scenario once and writes one such file for each node, so a
device carries neither YAML nor a validator, and holds no secret but its own.
"""

import signal
from pathlib import Path
from typing import Any

import msgspec

from ..core.heartbeat import Heartbeat
from ..learners.local_training import LocalTraining
from ..shaping.command import Command
from ..transport.secrets import AllowList, Secret

PATH = Path("/etc/emulate/node.json")
SHARD = Path("/data")
GRAPH = Path("/graph")
OUTPUT = Path("/output")
PORT = 5555
ENDINGS = {"canceled": signal.SIGTERM, "stopped": signal.SIGUSR1}
"""The signal that ends a server, by the reason that its log gives as the run's."""

Plain = dict[str, Any]


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
    batch_size: int
    codec: Plain
    error_feedback: bool
    workers: int
    """Devices in the whole fleet."""
    local: LocalTraining = LocalTraining(rate=1.0)
    """How far it trains alone."""
    hazards: list[Plain] = []
    """Faults that strike by iteration."""
    pull: Plain = msgspec.field(default_factory=lambda: {"kind": "dense"})


class EvaluatorRole(msgspec.Struct, frozen=True, tag="evaluator"):
    """The peer that measures the model on the test set."""

    connection: ServerAddress


class ServerRole(msgspec.Struct, frozen=True, tag="server"):
    """The parameter server."""

    guests: AllowList
    heartbeat: Heartbeat
    model: str
    learning_rate: float
    codec: Plain
    modulation: Plain
    synchronization: Plain
    workers: list[str]
    evaluator: str
    stop: Plain
    every: int = 1
    """Updates between two versions that the evaluator measures."""
    examples: dict[str, int] = {}
    """How many each of the workers learns from."""
    optimizer: Plain = msgspec.field(default_factory=lambda: {"kind": "sgd"})
    pull: Plain = msgspec.field(default_factory=lambda: {"kind": "dense"})
    checkpoint: float | None = None
    """Seconds between checkpoints."""
    holds: dict[str, Delay] = {}
    """How long what each node sends is held."""
    gathering: float | None = None
    """Seconds from its start that the server waits for all hellos; None: the conductor waits."""


class NodeConfig(msgspec.Struct, frozen=True):
    """One container's part in a run."""

    name: str
    seed: int
    user: int
    """The unprivileged user and group that the part runs as."""
    part: WorkerRole | EvaluatorRole | ServerRole
    network: Network = Network()


def read(path: Path = PATH) -> NodeConfig:
    return msgspec.json.decode(path.read_bytes(), type=NodeConfig)


def write(node: NodeConfig, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(node)))
