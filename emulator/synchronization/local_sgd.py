"""Local SGD: everybody trains for a few steps alone, then all take the mean (Stich, 2019).

What a device sends is as for `fedavg`, the sum of its gradients; the mean is a plain one. One step
and all devices make a barrier.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..learners.local_training import LocalTraining
from ..units import Fraction, Seconds
from .base import check_patience
from .fedavg import check_clients
from .rounds import Rounds, clients_per_round


@dataclass(frozen=True)
class LocalSGD:
    """A round: `steps` mini-batches of local SGD on each device, or on a share of them."""

    steps: int = 10
    """Mini-batches between two rounds: the paper's H."""
    clients: Fraction = Fraction(1)
    """The share of the devices that a round is for."""
    local_rate: float | None = None
    """The learning rate on the devices; without it, `training.learning_rate`."""
    patience: Seconds = Seconds(60)
    """How long a round lasts at most."""
    kind: Literal["local-sgd"] = "local-sgd"

    def __post_init__(self) -> None:
        check_clients(self.clients, self.local_rate)
        if self.steps < 1:
            raise ValueError(f"steps is {self.steps}: it is at least 1")
        check_patience(self.patience)

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Rounds[Any]":
        clients = clients_per_round(self.clients, len(members))
        return Rounds(members, clients, self.patience, seed)

    def local_training(self, rate: float) -> LocalTraining:
        """What a device does; `rate` is the server's."""
        return LocalTraining(self.local_rate or rate, steps=self.steps)
