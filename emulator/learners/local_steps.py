"""Local steps: SGD on one device over a few mini-batches.

The result is the sum of the gradients on the way, so that one step of the server along it, at the
device's rate, arrives at the device's model. This is the difference of two models over the rate
(McMahan et al., 2017, Algorithm 1); for a single mini-batch it is the gradient.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVarTuple

import numpy as np
from numpy.typing import NDArray

from ..vectors import Vector
from .batches import Batches
from .local_training import LocalTraining

Drawn = list[NDArray[np.integer[Any]]]
Ts = TypeVarTuple("Ts")


def draw(batches: Batches, local: LocalTraining) -> Drawn:
    """Return the numbers of the examples in each of the mini-batches of the next update."""
    if local.epochs:
        return [batch for _ in range(local.epochs) for batch in batches.one_pass()]
    return [batches.draw() for _ in range(local.steps)]


def per_epoch(batches: Batches, local: LocalTraining) -> int:
    """Return the updates that a device sends during a pass over its data, at least 1."""
    return 1 if local.epochs else max(1, batches.per_epoch // local.steps)


def descend(
    find: Callable[[Vector, *Ts], tuple[Vector, float]],
    theta: Vector,
    batches: Iterable[tuple[*Ts]],
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
