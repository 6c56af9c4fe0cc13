"""Optimizer `adam`: steps scaled by a gradient's first two moments (Kingma & Ba, 2015)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np

from ..units import Checked
from ..vectors import Vector
from .base import FLUSH_EVERY, Modulated, StateArrays, fill_state, flush_tiny, mean

_BLOCK = 1 << 14
"""Parameters moved at once, so that intermediate arrays stay in a core's cache."""


def _check_decay(beta: float, name: str) -> None:
    if not 0 <= beta < 1:
        raise ValueError(f"{name} is {beta:g}: write a number from 0 to below 1")


def _check_epsilon(epsilon: float) -> None:
    if not 1e-30 <= epsilon <= 1:
        raise ValueError(f"epsilon is {epsilon:g}: write a number from 1e-30 to 1")


@dataclass(frozen=True)
class Adam:
    """Adam with bias correction; a step costs O(parameters).

    Kingma & Ba (2015), Algorithm 1.
    """

    beta1: Annotated[float, Checked(partial(_check_decay, name="beta1"))] = 0.9
    """Decay of the first moment (the mean) at each step, from 0 to below 1."""
    beta2: Annotated[float, Checked(partial(_check_decay, name="beta2"))] = 0.999
    """Decay of the second moment (the mean square) at each step, from 0 to below 1."""
    epsilon: Annotated[float, Checked(_check_epsilon)] = 1e-8
    """Addend to the root of the second moment, from 1e-30 to 1."""
    kind: Literal["adam"] = "adam"

    def __post_init__(self) -> None:
        _check_decay(self.beta1, "beta1")
        _check_decay(self.beta2, "beta2")
        _check_epsilon(self.epsilon)

    def start(self, size: int, rate: float) -> "AdamDescent":
        return AdamDescent(self, size, rate)


class AdamDescent:
    """The two moments of every parameter, and the number of steps."""

    everywhere = True

    def __init__(self, adam: Adam, size: int, rate: float) -> None:
        self._adam, self._rate = adam, rate
        self._first: Vector = np.zeros(size, np.float32)
        self._second: Vector = np.zeros(size, np.float32)
        self._scratch: Vector = np.empty(min(size, _BLOCK), np.float32)
        self._blocks = [slice(*ends) for ends in pairwise([*range(0, size, _BLOCK), size])]
        self._steps = np.zeros(1, np.int64)

    def state(self) -> StateArrays:
        return {"first": self._first, "second": self._second, "steps": self._steps}

    def restore(self, arrays: StateArrays) -> None:
        fill_state(self.state(), arrays)

    def step(self, theta: Vector, gradients: Sequence[Modulated]) -> None:
        gradient = mean(gradients, theta.size)
        self._steps += 1
        steps = int(self._steps[0])
        beta1, beta2 = self._adam.beta1, self._adam.beta2
        self._first *= np.float32(beta1)
        self._second *= np.float32(beta2)
        positions = slice(None) if gradient.indices is None else gradient.indices
        self._first[positions] += np.float32(1 - beta1) * gradient.values
        self._second[positions] += np.float32(1 - beta2) * np.square(gradient.values)
        # θ -= α · m / (1 - β₁ᵗ) / (√(v / (1 - β₂ᵗ)) + ε); the scalars are found once a step
        unbiased = np.float32((1 - beta2**steps) ** -0.5)
        rate = np.float32(self._rate / (1 - beta1**steps))
        for block in self._blocks:
            self._move(theta[block], self._first[block], self._second[block], unbiased, rate)
        if steps % FLUSH_EVERY == 0:
            flush_tiny(self._first, self._second)

    def _move(
        self, theta: Vector, first: Vector, second: Vector, unbiased: np.float32, rate: np.float32
    ) -> None:
        """Move a block of `theta`; `unbiased` is 1 / √(1 - β₂ᵗ), `rate` is α / (1 - β₁ᵗ)."""
        scratch = self._scratch[: theta.size]
        np.sqrt(second, out=scratch)
        scratch *= unbiased
        scratch += np.float32(self._adam.epsilon)
        np.divide(first, scratch, out=scratch)
        scratch *= rate
        theta -= scratch
