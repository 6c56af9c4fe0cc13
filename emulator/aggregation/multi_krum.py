"""Aggregation `multi-krum`: the mean of the gradients that are closest to most others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ..optimizers.base import Modulated
from ..units import Checked
from .krum import Liars, check_liars, scores


def _check_keep(keep: int) -> None:
    if keep < 1:
        raise ValueError(f"keep is {keep}: write a whole number from 1 up")


@dataclass(frozen=True)
class MultiKrum:
    """Mean of the gradients with the least scores of `krum`, which weigh alike.

    Blanchard et al. (2017), Section 4. It learns from more examples than `krum`, and withstands as
    many `liars`.
    """

    liars: Liars
    """Number of devices that may lie, at least 1: the paper's f."""
    keep: Annotated[int, Checked(_check_keep)] | None = None
    """Number of gradients in the mean: the paper's m. Without `keep`, all of a step but `liars`."""
    kind: Literal["multi-krum"] = "multi-krum"

    def __post_init__(self) -> None:
        check_liars(self.liars)
        if self.keep is not None:
            _check_keep(self.keep)

    @property
    def single(self) -> bool:
        return False

    @property
    def least(self) -> int:
        """Fewest gradients of a step with which the paper's promise holds."""
        return 2 * self.liars + 3

    def combine(self, gradients: Sequence[Modulated]) -> Sequence[Modulated]:
        wanted = self.keep or len(gradients) - self.liars
        kept = min(len(gradients), max(1, wanted))
        order = np.argsort(scores(gradients, self.liars), kind="stable")[:kept]
        # in the order of the step, which sums of floats depend on
        return [gradients[place]._replace(share=1 / kept) for place in sorted(order.tolist())]
