"""Synchronization `local-sgd`: a few local steps on every device, then the mean (Stich, 2019).

A device sends the sum of its gradients, as with `fedavg`; the mean is unweighted. With one step and
all devices this is a barrier.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from ..learning.learners.local_training import LocalTraining
from ..units import AtLeast, Fraction, Seconds
from .base import Patience, check_patience
from .fedavg import Clients, LocalRate, check_clients, check_local_rate
from .rounds import Rounds, clients_per_round

_STEPS = AtLeast(1)


@dataclass(frozen=True)
class LocalSGD:
    """Local SGD: in a round, every device, or a share of the devices, makes `steps` steps alone.

    Stich (2019). A step is a mini-batch of SGD.
    """

    steps: Annotated[int, _STEPS] = 10
    """Mini-batches on a device between two rounds: the paper's H."""
    clients: Clients = Fraction(1)
    """Share of the devices drawn for a round, at least one device."""
    local_rate: LocalRate | None = None
    """Learning rate on the devices; without it, `training.learning_rate`."""
    patience: Patience = Seconds(60)
    """Longest duration of a round."""
    kind: Literal["local-sgd"] = "local-sgd"

    def __post_init__(self) -> None:
        check_clients(self.clients)
        if self.local_rate is not None:
            check_local_rate(self.local_rate)
        _STEPS.check(self.steps, "steps")
        check_patience(self.patience)

    def start(
        self, members: frozenset[str], seed: int = 0, examples: Mapping[str, int] | None = None
    ) -> "Rounds[Any]":
        clients = clients_per_round(self.clients, len(members))
        return Rounds(members, clients, self.patience, seed)

    def local_training(self, rate: float) -> LocalTraining:
        """Return the local training of a device; `rate` is the server's learning rate."""
        return LocalTraining(self.local_rate or rate, steps=self.steps)
