"""Computing times of mini-batches that a compute group deals to devices."""

from typing import Annotated, NamedTuple

from pydantic import Field

from ...world.laws import Law
from .devices import Section
from .fields import AnyLaw


class DealtStep(Section):
    """Computing time of a device of a compute group, for its share of the group's mini-batch."""

    examples: Annotated[int, Field(ge=1)]
    """Number of examples in the device's mini-batch."""
    step: AnyLaw
    """Computing time from a model to its update, on a whole core of the host."""


class BatchTime(NamedTuple):
    """The time of a mini-batch on a whole core: `share` of a draw from `law`."""

    law: Law
    share: float = 1.0

    @property
    def mean(self) -> float:
        """Return the mean time in seconds."""
        return self.law.mean * self.share
