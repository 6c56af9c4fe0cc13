"""Optimizer `sign`: equal steps in the direction of most gradients (majority vote).

Bernstein et al. (2018), Algorithm 3, with one gradient from each worker, as a barrier collects. The
votes are signs, whatever the codec; `signsgd` sends nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..vectors import Vector
from .base import Modulated, StateArrays, fill_state


@dataclass(frozen=True)
class Sign:
    """Majority vote: θ -= α · sign(Σ sign(g)); a tie moves nothing.

    Bernstein et al. (2018), Algorithm 3. A step costs O(parameters).
    """

    kind: Literal["sign"] = "sign"

    def start(self, size: int, rate: float) -> "SignDescent":
        return SignDescent(rate)


class SignDescent:
    """Descent without memory. A gradient has one vote: shares and divisors do not count."""

    everywhere = True

    def __init__(self, rate: float) -> None:
        self._rate = np.float32(rate)

    def state(self) -> StateArrays:
        return {}

    def restore(self, arrays: StateArrays) -> None:
        fill_state({}, arrays)

    def step(self, theta: Vector, gradients: Sequence[Modulated]) -> None:
        votes = np.zeros_like(theta)
        for gradient, _, _ in gradients:
            positions = slice(None) if gradient.indices is None else gradient.indices
            votes[positions] += np.sign(gradient.values)
        theta -= self._rate * np.sign(votes)
