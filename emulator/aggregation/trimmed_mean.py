"""Aggregation `trimmed-mean`: the mean of every entry without the largest and smallest values."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from ..optimizers.base import Modulated
from ..units import Checked, Fraction
from .base import entrywise


def _check_trim(trim: Fraction) -> None:
    if not 0 < trim < 0.5:
        raise ValueError(f"trim is {trim}: write a share above 0% and below 50%")


@dataclass(frozen=True)
class TrimmedMean:
    """Mean of each entry over the gradients, without the `trim` largest and smallest.

    Yin et al. (2018), Definition 2. Gradients weigh alike. Withstands lies of a share of the
    devices up to `trim`.
    """

    trim: Annotated[Fraction, Checked(_check_trim)] = Fraction(0.2)
    """Share of the values that is left out at each end, above 0% and below 50%: the paper's β. Of m
    values, ⌊trim · m⌋ are left out at each end."""
    kind: Literal["trimmed-mean"] = "trimmed-mean"

    def __post_init__(self) -> None:
        _check_trim(self.trim)

    @property
    def single(self) -> bool:
        return False

    def combine(self, gradients: Sequence[Modulated]) -> Sequence[Modulated]:
        statistic = partial(_trimmed, trim=float(self.trim))
        return entrywise(gradients, statistic) if len(gradients) > 1 else gradients


def _trimmed(rows: NDArray[np.float32], trim: float) -> NDArray[np.float32]:
    """Return the mean of every column without the share `trim` of the values at either end."""
    # decimal arithmetic: in binary 0.29 · 100 is below 29
    cut = int(Decimal(repr(trim)) * len(rows))
    kept = np.sort(rows, axis=0)[cut : len(rows) - cut]
    mean: NDArray[np.float32] = kept.mean(axis=0, dtype=np.float32)
    return mean
