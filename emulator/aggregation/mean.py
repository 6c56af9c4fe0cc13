"""Aggregation `mean`: a step follows the weighted mean of the gradients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..optimizers.base import Modulated


@dataclass(frozen=True)
class Mean:
    """Mean of the gradients, weighted as the synchronization says. One liar can turn the mean."""

    kind: Literal["mean"] = "mean"

    @property
    def single(self) -> bool:
        return True

    def combine(self, gradients: Sequence[Modulated]) -> Sequence[Modulated]:
        return gradients
