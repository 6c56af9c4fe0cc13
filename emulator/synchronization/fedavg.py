"""Synchronization `fedavg`: federated averaging (McMahan et al., 2017).

Devices train for whole epochs between two rounds. A device sends the sum of the gradients along its
way: the difference of its first and last model over its learning rate. So codecs compress the sum
like any gradient, and an SGD step of the server at the same rate moves θ to the mean of the
devices' models, weighted by their numbers of examples. One epoch in one batch is FedSGD.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from ..learning.learners.local_training import LocalTraining
from ..units import AtLeast, Checked, Fraction, Seconds
from .base import Patience, check_patience
from .rounds import Rounds, clients_per_round

_EPOCHS = AtLeast(1)


def check_clients(share: Fraction) -> None:
    """Raise ValueError unless `share` is a share of devices that can train in a round."""
    if not 0 < share <= 1:
        raise ValueError(f"clients is {share}: write a share above 0% and up to 100%")


def check_local_rate(rate: float) -> None:
    """Raise ValueError unless devices can train with the learning rate `rate`."""
    if not 0 < rate < float("inf"):
        raise ValueError(f"local_rate is {rate}: write a number above 0")


Clients: TypeAlias = Annotated[Fraction, Checked(check_clients)]
LocalRate: TypeAlias = Annotated[float, Checked(check_local_rate)]


@dataclass(frozen=True)
class FedAvg:
    """Federated averaging: in a round, a share of the devices trains for `epochs` of local SGD
    each.

    McMahan et al. (2017). Local batches have `training.batch_size` examples.
    """

    clients: Clients = Fraction(0.1)
    """Share of the devices drawn for a round, at least one device: the paper's C."""
    epochs: Annotated[int, _EPOCHS] = 1
    """Passes over a device's own examples in a round: the paper's E."""
    local_rate: LocalRate | None = None
    """Learning rate on the devices; without it, `training.learning_rate`."""
    patience: Patience = Seconds(300)
    """Longest duration of a round."""
    kind: Literal["fedavg"] = "fedavg"

    def __post_init__(self) -> None:
        check_clients(self.clients)
        if self.local_rate is not None:
            check_local_rate(self.local_rate)
        _EPOCHS.check(self.epochs, "epochs")
        check_patience(self.patience)

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Rounds[Any]":
        clients = clients_per_round(self.clients, len(members))
        return Rounds(members, clients, self.patience, seed, examples)

    def local_training(self, rate: float) -> LocalTraining:
        """Return the local training of a device; `rate` is the server's learning rate."""
        return LocalTraining(self.local_rate or rate, epochs=self.epochs)
