"""What of the model travels to a worker that pulls: all of it, or what it does not have yet."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from .. import kinds
from ..kinds import plain
from .base import Coded, Pulls
from .delta import Delta
from .dense import Dense
from .holder import Holder

AnyPull: TypeAlias = Dense | Delta


def make(description: Mapping[str, Any]) -> AnyPull:
    """The kind of pull that `plain` described."""
    pull: AnyPull = kinds.make(AnyPull, description)
    return pull


__all__ = ["AnyPull", "Coded", "Delta", "Dense", "Holder", "Pulls", "make", "plain"]
