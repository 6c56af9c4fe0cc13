"""Synchronizations: rules for the gradients of a step, and for workers that wait.

To add a synchronization: write a file, name the class here, and add a row to the tests' table.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..learning.learners.local_training import LocalTraining
from ..plugins import Family, plain
from .asynchronous import Asynchronous
from .barrier import Barrier
from .base import LeftOut, Patient, Synchronization, Synchronizer
from .bounded import Bounded
from .fedavg import FedAvg
from .groups import ComputeGroups
from .local_sgd import LocalSGD
from .softsync import Softsync

AnySynchronization: TypeAlias = (
    Asynchronous | Barrier | Bounded | Softsync | FedAvg | LocalSGD | ComputeGroups
)

FAMILY = Family("synchronization", AnySynchronization, Synchronization)


def make(description: Mapping[str, Any]) -> AnySynchronization:
    """Build the synchronization described by `plain`."""
    synchronization: AnySynchronization = FAMILY.make(description)
    return synchronization


def local_training(synchronization: AnySynchronization, rate: float) -> LocalTraining:
    """Return a device's local training under `synchronization`; `rate` is the server's rate."""
    # only some have a method for it: rounds, and users' classes that say so
    own = getattr(synchronization, "local_training", None)
    training: LocalTraining = own(rate) if own else LocalTraining(rate)
    return training


__all__ = [
    "FAMILY",
    "AnySynchronization",
    "Asynchronous",
    "Barrier",
    "Bounded",
    "ComputeGroups",
    "FedAvg",
    "LeftOut",
    "LocalSGD",
    "LocalTraining",
    "Patient",
    "Softsync",
    "Synchronization",
    "Synchronizer",
    "local_training",
    "make",
    "plain",
]
