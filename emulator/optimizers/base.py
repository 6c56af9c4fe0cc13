"""An optimizer turns the mean gradient of a step into a change of the model."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from ..vectors import Gradient, Vector

TINY = np.float32(1e-30)
"""What decays below it is as good as nothing: no float32 that a model holds would feel it."""

FLUSH_EVERY = 64
"""Steps between two times that what is tiny is made zero."""


class Modulated(NamedTuple):
    """One gradient of a step: it enters with `share / divisor`; the shares add up to 1."""

    gradient: Gradient
    share: float
    divisor: np.float32 | Vector
    """One number, or one for each entry of the gradient."""


class Descent(Protocol):
    """What one server holds."""

    everywhere: bool
    """Whether a step changes parameters that no gradient of it holds."""

    def step(self, theta: Vector, gradients: Sequence[Modulated]) -> None:
        """Move `theta`, in place, along the mean of these gradients; at least one."""


class Optimizer(Protocol):
    """Frozen configuration; `start` makes the state."""

    def start(self, size: int, rate: float) -> Descent:
        """For a model of so many parameters and this learning rate."""


def mean(gradients: Sequence[Modulated], size: int) -> Gradient:
    """The mean of the modulated gradients: sparse if there is but one, and it is."""
    if len(gradients) == 1:
        gradient, share, divisor = gradients[0]
        return Gradient(np.float32(share) / divisor * gradient.values, gradient.indices)
    total = np.zeros(size, np.float32)
    for gradient, share, divisor in gradients:
        where = slice(None) if gradient.indices is None else gradient.indices
        total[where] += np.float32(share) / divisor * gradient.values
    return Gradient(total)


def flush_tiny(*vectors: Vector) -> None:
    """Make zero what has decayed to almost that.

    float32 would stop at its smallest denormal, with which some processors compute a hundred
    times slower.
    """
    for vector in vectors:
        vector[np.abs(vector) < TINY] = 0
