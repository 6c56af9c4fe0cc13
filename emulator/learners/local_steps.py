"""SGD on one device: from a model downhill for a few mini-batches.

What comes of it is the sum of the gradients on the way, so that one step of the server along it, at
the device's rate, leads where the device went. It is the paper's difference of two models, over
the rate (McMahan et al., 2017, algorithm 1), and one mini-batch's is a gradient.
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
    """The numbers of the examples in each of the next mini-batches."""
    if local.epochs:
        return [batch for _ in range(local.epochs) for batch in batches.one_pass()]
    return [batches.draw() for _ in range(local.steps)]


def per_epoch(batches: Batches, local: LocalTraining) -> int:
    """Updates that a device makes while it goes once through its data, at least one."""
    return 1 if local.epochs else max(1, batches.per_epoch // local.steps)


def descend(
    find: Callable[[Vector, *Ts], tuple[Vector, float]],
    theta: Vector,
    batches: Iterable[tuple[*Ts]],
    rate: float,
) -> tuple[Vector, float]:
    """The sum of the gradients that `find` finds, and the mean of its losses."""
    left = iter(batches)
    total, loss = find(theta, *next(left))
    losses = [loss]
    with np.errstate(over="ignore", invalid="ignore"):  # who encodes it refuses what came of it
        for batch in left:
            gradient, loss = find(theta - np.float32(rate) * total, *batch)
            total = total + gradient  # not in place: the first may be a view of others' memory
            losses.append(loss)
    return total, sum(losses) / len(losses)
