"""Local steps: SGD on one device over a few mini-batches.

The result is the sum of the gradients on the way, so that one step of the server along it, at the
device's rate, arrives at the device's model. This is the difference of two models over the rate
(McMahan et al., 2017, Algorithm 1); for a single mini-batch it is the gradient.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...vectors import Vector
from ..datasets.examples import Examples, Subset
from .batches import Batches
from .local_training import LocalTraining


class Drawn(NamedTuple):
    """A mini-batch to compute a gradient on, perhaps later and in another thread."""

    numbers: NDArray[np.integer[Any]]
    """Numbers of the examples."""
    noise: tuple[NDArray[np.int64], ...]
    """As `Batches.noise` returns it."""

    def batch(self, examples: Examples | Subset) -> tuple[NDArray[Any], ...]:
        """Return inputs and labels out of `examples`, and the noise if there is any."""
        return (*examples.batch(self.numbers), *self.noise)


def draw(batches: Batches, local: LocalTraining) -> list[Drawn]:
    """Return the mini-batches of the next update."""
    if local.epochs:
        passes = [batch for _ in range(local.epochs) for batch in batches.one_pass()]
        return [Drawn(numbers, batches.noise()) for numbers in passes]
    return [Drawn(batches.draw(), batches.noise()) for _ in range(local.steps)]


def per_epoch(batches: Batches, local: LocalTraining) -> int:
    """Return the updates that a device sends during a pass over its data, at least 1."""
    return 1 if local.epochs else max(1, batches.per_epoch // local.steps)


def descend(
    find: Callable[..., tuple[Vector, float]],
    theta: Vector,
    batches: Iterable[tuple[Any, ...]],
    rate: float,
) -> tuple[Vector, float]:
    """Return the sum of gradients along the local steps, and the mean of the losses.

    `find` maps weights and a batch to a gradient and a loss; `theta` is the server's model.
    """
    remaining = iter(batches)
    total, loss = find(theta, *next(remaining))
    losses = [loss]
    with np.errstate(over="ignore", invalid="ignore"):  # the encoder refuses an overflow
        for batch in remaining:
            gradient, loss = find(theta - np.float32(rate) * total, *batch)
            total = total + gradient  # not in place: the first may be a view of a learner's memory
            losses.append(loss)
    return total, sum(losses) / len(losses)
