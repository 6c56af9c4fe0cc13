"""A heavy ball rolls on: each step takes along what the steps before it did (Polyak, 1964)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..vectors import Vector
from .base import FLUSH_EVERY, Modulated, flush_tiny, mean


@dataclass(frozen=True)
class Momentum:
    """u = m · u + g, then θ -= α · u. A step costs O(parameters), however sparse the gradient."""

    momentum: float = 0.9
    """The share of its speed that the ball keeps: m."""
    kind: Literal["momentum"] = "momentum"

    def __post_init__(self) -> None:
        # below zero as well: what asynchrony adds can be too much (Mitliagkas et al., 2016)
        if not -1 < self.momentum < 1:
            raise ValueError(f"momentum is {self.momentum:g}: it lies between -1 and 1")

    def start(self, size: int, rate: float) -> "MomentumDescent":
        return MomentumDescent(size, rate, self.momentum)


class MomentumDescent:
    """Keeps α · u, which is what θ moves by."""

    everywhere = True

    def __init__(self, size: int, rate: float, momentum: float) -> None:
        self._rate, self._momentum = np.float32(rate), np.float32(momentum)
        self._speed: Vector = np.zeros(size, np.float32)
        self._steps = 0

    def step(self, theta: Vector, gradients: Sequence[Modulated]) -> None:
        gradient = mean(gradients, theta.size)
        speed = self._speed
        speed *= self._momentum
        where = slice(None) if gradient.indices is None else gradient.indices
        speed[where] += self._rate * gradient.values
        theta -= speed
        self._steps += 1
        if self._steps % FLUSH_EVERY == 0:
            flush_tiny(speed)
