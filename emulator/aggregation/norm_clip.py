"""Aggregation `norm-clip`: the mean of gradients, after gradients longer than a bound are
shortened."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ..optimizers.base import Modulated
from ..units import Checked
from ..vectors import Vector
from .base import divided


def _check_norm(norm: float) -> None:
    if not 0 < norm < float("inf"):
        raise ValueError(f"norm is {norm}: write a number above 0")


@dataclass(frozen=True)
class NormClip:
    """Weighted mean of the gradients, where longer ones are scaled down to the bound.

    Sun et al. (2019), Section 4. A liar can turn the step, but not lengthen it.
    """

    norm: Annotated[float, Checked(_check_norm)] | None = None
    """Largest Euclidean norm of a gradient. Without `norm`, the median of the norms of a step."""
    kind: Literal["norm-clip"] = "norm-clip"

    def __post_init__(self) -> None:
        if self.norm is not None:
            _check_norm(self.norm)

    @property
    def single(self) -> bool:
        return self.norm is not None

    def combine(self, gradients: Sequence[Modulated]) -> Sequence[Modulated]:
        norms = [_norm(divided(each).values) for each in gradients]
        bound = float(np.median(norms)) if self.norm is None else self.norm
        return [
            each if norm <= bound else _shortened(each, norm, bound)
            for each, norm in zip(gradients, norms, strict=True)
        ]


def _norm(values: Vector) -> float:
    return float(np.linalg.norm(values.astype(np.float64)))  # squares of float32 may overflow


def _shortened(modulated: Modulated, norm: float, bound: float) -> Modulated:
    """Return a gradient of length `norm` with a divisor that reduces the length to `bound`.

    With a bound of 0 it is made of zeros, as no divisor is large enough.
    """
    if bound == 0:
        gradient = modulated.gradient
        zeros = np.zeros_like(gradient.values)
        return modulated._replace(gradient=type(gradient)(zeros, gradient.indices))
    return modulated._replace(divisor=modulated.divisor * np.float32(norm / bound))
