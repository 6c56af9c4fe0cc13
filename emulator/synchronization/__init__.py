"""Who waits for whom. To add a way: write its file, name it here, add its row to the tests."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from .. import kinds
from ..kinds import plain
from .asynchronous import Asynchronous
from .barrier import Barrier
from .base import Synchronization, Synchronizer

AnySynchronization: TypeAlias = Asynchronous | Barrier


def make(description: Mapping[str, Any]) -> AnySynchronization:
    """The synchronization that `plain` described."""
    synchronization: AnySynchronization = kinds.make(AnySynchronization, description)
    return synchronization


__all__ = [
    "AnySynchronization",
    "Asynchronous",
    "Barrier",
    "Synchronization",
    "Synchronizer",
    "make",
    "plain",
]
