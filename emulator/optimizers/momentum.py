"""Optimizer `momentum`: the heavy-ball method (Polyak, 1964)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ..units import Checked
from ..vectors import Vector
from .base import FLUSH_EVERY, Modulated, StateArrays, fill_state, flush_tiny, mean


def _check_momentum(momentum: float) -> None:
    # Negative values make sense: asynchrony itself adds momentum, about 1 - 1/g for g groups
    # with memoryless service times (Mitliagkas et al., 2016), at times more than is wanted.
    if not -1 < momentum < 1:
        raise ValueError(f"momentum is {momentum:g}: write a number between -1 and 1")


@dataclass(frozen=True)
class Momentum:
    """Heavy-ball momentum: u = m · u + g, then θ -= α · u.

    Polyak (1964). A step costs O(parameters), however sparse the gradient is.
    """

    momentum: Annotated[float, Checked(_check_momentum)] = 0.9
    """Share m of u that is kept at each step, between -1 and 1."""
    kind: Literal["momentum"] = "momentum"

    def __post_init__(self) -> None:
        _check_momentum(self.momentum)

    def start(self, size: int, rate: float) -> "MomentumDescent":
        return MomentumDescent(size, rate, self.momentum)


class MomentumDescent:
    """State α · u, the change of θ in a step."""

    everywhere = True

    def __init__(self, size: int, rate: float, momentum: float) -> None:
        self._rate, self._momentum = np.float32(rate), np.float32(momentum)
        self._speed: Vector = np.zeros(size, np.float32)
        self._steps = np.zeros(1, np.int64)

    def state(self) -> StateArrays:
        return {"speed": self._speed, "steps": self._steps}

    def restore(self, arrays: StateArrays) -> None:
        fill_state(self.state(), arrays)

    def step(self, theta: Vector, gradients: Sequence[Modulated]) -> None:
        gradient = mean(gradients, theta.size)
        speed = self._speed
        speed *= self._momentum
        positions = slice(None) if gradient.indices is None else gradient.indices
        speed[positions] += self._rate * gradient.values
        theta -= speed
        self._steps += 1
        if self._steps[0] % FLUSH_EVERY == 0:
            flush_tiny(speed)
