"""Optimizer `sgd`: stochastic gradient descent without memory (Robbins & Monro, 1951)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..vectors import Vector
from .base import Modulated, StateArrays, fill_state


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent: θ -= α · g.

    Robbins & Monro (1951). A step of a sparse gradient costs O(entries).
    """

    kind: Literal["sgd"] = "sgd"

    def start(self, size: int, rate: float) -> "SGDDescent":
        return SGDDescent(rate)


class SGDDescent:
    """Descent without memory."""

    everywhere = False

    def __init__(self, rate: float) -> None:
        self._rate = rate

    def state(self) -> StateArrays:
        return {}

    def restore(self, arrays: StateArrays) -> None:
        fill_state({}, arrays)

    def step(self, theta: Vector, gradients: Sequence[Modulated]) -> None:
        for gradient, share, divisor in gradients:
            change = np.float32(self._rate * share) / divisor * gradient.values
            if gradient.indices is None:
                theta -= change
            else:
                positions = gradient.indices.astype(np.intp)
                theta[positions] = theta.take(positions) - change
