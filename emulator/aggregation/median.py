"""Aggregation `median`: a step follows the coordinate-wise median of the gradients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..optimizers.base import Modulated
from .base import entrywise


@dataclass(frozen=True)
class Median:
    """Median of every entry over the gradients, which weigh alike.

    Yin et al. (2018), Definition 1. Withstands lies of fewer than half of the devices.
    """

    kind: Literal["median"] = "median"

    @property
    def single(self) -> bool:
        return False

    def combine(self, gradients: Sequence[Modulated]) -> Sequence[Modulated]:
        return entrywise(gradients, _median) if len(gradients) > 1 else gradients


def _median(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the median of each column; of an even number of rows, the mean of the middle two."""
    # a sort along short columns is three times faster than NumPy's median
    ordered, half = np.sort(rows, axis=0), len(rows) // 2
    if len(rows) % 2:
        odd: NDArray[np.float32] = ordered[half]
        return odd
    even: NDArray[np.float32] = (
        np.float32(0.5) * ordered[half - 1] + np.float32(0.5) * ordered[half]
    )
    return even
