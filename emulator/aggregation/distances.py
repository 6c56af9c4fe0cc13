"""Squared distances between the gradients of a step, for aggregations that select gradients."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..optimizers.base import Modulated
from ..vectors import Gradient
from .base import blocks, divided


def squared_distances(gradients: Sequence[Modulated]) -> NDArray[np.float64]:
    """Return f64[n, n], the squared Euclidean distances between n gradients after division by the
    divisors.

    An entry that a gradient does not hold counts as zero.
    """
    parts = [divided(modulated) for modulated in gradients]
    products = np.zeros((len(parts), len(parts)))
    size = max(_extent(part) for part in parts)
    for block in blocks(size):
        rows = np.stack([_cut(part, block) for part in parts])
        products += rows @ rows.T
    squares = np.diag(products)
    # |a - b|² = |a|² + |b|² - 2ab, which rounding may leave below zero
    distances: NDArray[np.float64]
    distances = np.maximum(squares[:, None] + squares[None, :] - 2 * products, 0)
    return distances


def _extent(part: Gradient) -> int:
    """Return the number of parameters up to the last parameter in `part`."""
    if part.indices is None:
        return part.values.size
    return int(part.indices[-1]) + 1 if part.indices.size else 0


def _cut(part: Gradient, block: slice) -> NDArray[np.float64]:
    """Return the entries of `part` in `block`, f64, with zeros for missing entries."""
    row = np.zeros(block.stop - block.start)
    if part.indices is None:
        own = part.values[block]
        row[: own.size] = own
    else:
        first, last = np.searchsorted(part.indices, (block.start, block.stop))
        row[part.indices[first:last] - np.uint32(block.start)] = part.values[first:last]
    return row
