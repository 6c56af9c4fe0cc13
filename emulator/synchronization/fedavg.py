"""Federated averaging: devices train for whole epochs between two rounds (McMahan et al., 2017).

What a device sends is the sum of the gradients along its way: the difference of its models, the
first less the last, over its learning rate. So codecs compress it like any gradient, and an SGD
step of the server, at the same rate, moves θ to the mean of the devices' models, weighted by how
many examples each has. With one epoch in one batch that is a gradient: FedSGD.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..learners.local_training import LocalTraining
from ..units import Fraction, Seconds
from .base import check_patience
from .rounds import Rounds, clients_per_round


@dataclass(frozen=True)
class FedAvg:
    """A round: a share of the devices, `epochs` of local SGD each, in batches of `batch_size`."""

    clients: Fraction = Fraction(0.1)
    """The share of the devices that a round is for: the paper's C. At least one device is."""
    epochs: int = 1
    """Passes over a device's own examples: the paper's E."""
    local_rate: float | None = None
    """The learning rate on the devices; without it, `training.learning_rate`."""
    patience: Seconds = Seconds(300)
    """How long a round lasts at most."""
    kind: Literal["fedavg"] = "fedavg"

    def __post_init__(self) -> None:
        check_clients(self.clients, self.local_rate)
        if self.epochs < 1:
            raise ValueError(f"epochs is {self.epochs}: it is at least 1")
        check_patience(self.patience)

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Rounds[Any]":
        clients = clients_per_round(self.clients, len(members))
        return Rounds(members, clients, self.patience, seed, examples)

    def local_training(self, rate: float) -> LocalTraining:
        """What a device does; `rate` is the server's."""
        return LocalTraining(self.local_rate or rate, epochs=self.epochs)


def check_clients(share: float, rate: float | None) -> None:
    """A ValueError unless somebody is drawn and learns."""
    if not 0 < share <= 1:
        raise ValueError(f"clients is {share}: write a share above 0% and up to 100%")
    if rate is not None and not 0 < rate < float("inf"):
        raise ValueError(f"local_rate is {rate}: it is a number above 0")
