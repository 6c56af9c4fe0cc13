"""Aggregation `krum`: a step follows the single gradient that is closest to most others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..optimizers.base import Modulated
from ..units import Checked
from .distances import squared_distances


def check_liars(liars: int) -> None:
    """Raise ValueError unless `liars` is at least 1."""
    if liars < 1:
        raise ValueError(f"liars is {liars}: write a whole number from 1 up")


Liars: TypeAlias = Annotated[int, Checked(check_liars)]


@dataclass(frozen=True)
class Krum:
    """The gradient with the least score, in place of a mean.

    Blanchard et al. (2017), Section 4: the score is the sum of the squared distances to the n - f -
    2 closest of the n gradients of a step. It withstands `liars` = f of at least 2 f + 3 devices.
    """

    liars: Liars
    """Number of devices that may lie, at least 1: the paper's f."""
    kind: Literal["krum"] = "krum"

    def __post_init__(self) -> None:
        check_liars(self.liars)

    @property
    def single(self) -> bool:
        return False

    @property
    def least(self) -> int:
        """Fewest gradients of a step with which the paper's promise holds."""
        return 2 * self.liars + 3

    def combine(self, gradients: Sequence[Modulated]) -> Sequence[Modulated]:
        best = int(np.argmin(scores(gradients, self.liars)))
        return [gradients[best]._replace(share=1.0)]


def scores(gradients: Sequence[Modulated], liars: int) -> NDArray[np.float64]:
    """Return the score of every gradient. The least score is the best; equal scores go in order.

    A step may have fewer gradients than devices. Then at least one neighbour counts, if there is
    any.
    """
    distances = np.sort(squared_distances(gradients), axis=1)
    neighbours = max(1, len(gradients) - liars - 2)
    # the closest to each gradient is the gradient itself, at distance 0
    total: NDArray[np.float64] = distances[:, 1 : 1 + neighbours].sum(axis=1)
    return total
