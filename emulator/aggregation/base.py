"""Protocol of aggregation, and the matrix of gradients that robust statistics are taken of.

Of sparse gradients, a statistic of an entry is taken over the gradients that hold the entry, and
multiplied by their share of all gradients. For the mean this is the mean with zeros in place of
missing entries; with dense gradients it is the papers' definition.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..optimizers.base import Modulated
from ..vectors import Gradient, Indices, Vector

BLOCK = 1 << 14
"""Entries that are worked on at once, so that intermediate arrays stay in a core's cache."""

Statistic: TypeAlias = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Takes f32[gradients, entries] and returns f32[entries]."""


class Aggregation(Protocol):
    """Frozen configuration without state: a step depends on the step's gradients only."""

    @property
    def kind(self) -> str: ...

    @property
    def single(self) -> bool:
        """Whether the aggregation changes a step of a single gradient."""

    def combine(self, gradients: Sequence[Modulated]) -> Sequence[Modulated]:
        """Return at least one gradient to make the step in place of `gradients`.

        The step goes along the weighted mean of the result, with shares that add up to 1. The
        arrays of `gradients` are not changed.
        """


def divided(modulated: Modulated) -> Gradient:
    """Return the gradient divided by the divisor; the share does not count."""
    gradient = modulated.gradient
    return Gradient(gradient.values / modulated.divisor, gradient.indices)


def entrywise(gradients: Sequence[Modulated], statistic: Statistic) -> list[Modulated]:
    """Return a gradient with the `statistic` of the entries of `gradients`.

    All gradients weigh alike. The result is sparse if all `gradients` are.
    """
    parts = [divided(modulated) for modulated in gradients]
    if all(part.indices is None for part in parts):
        values = _dense([part.values for part in parts], statistic)
        return [_whole(Gradient(values))]
    return [_whole(_sparse(parts, statistic))]


def blocks(size: int) -> Iterator[slice]:
    """Yield slices of `BLOCK` entries, together `size` entries."""
    for start in range(0, size, BLOCK):
        yield slice(start, min(start + BLOCK, size))


def _whole(gradient: Gradient) -> Modulated:
    return Modulated(gradient, 1.0, np.float32(1))


def _dense(rows: Sequence[Vector], statistic: Statistic) -> Vector:
    combined = np.empty_like(rows[0])
    for block in blocks(combined.size):
        combined[block] = statistic(np.stack([row[block] for row in rows]))
    return combined


def _sparse(parts: Sequence[Gradient], statistic: Statistic) -> Gradient:
    """Return the statistic of every entry over its gradients, times the share of gradients with the
    entry."""
    whole = next((part.values.size for part in parts if part.indices is None), None)
    held = [part.indices for part in parts if part.indices is not None]
    union: Indices
    union = np.unique(np.concatenate(held)) if whole is None else np.arange(whole, dtype=np.uint32)
    rows = np.zeros((len(parts), union.size), np.float32)
    present = np.zeros((len(parts), union.size), bool)
    for part, row, own in zip(parts, rows, present, strict=True):
        columns = slice(None) if part.indices is None else np.searchsorted(union, part.indices)
        row[columns], own[columns] = part.values, True
    values = np.empty(union.size, np.float32)
    holders = present.sum(axis=0)
    for count in np.unique(holders).tolist():
        columns = np.flatnonzero(holders == count)
        # entries with equally many holders form a matrix: for each column, its holders' rows
        chosen = np.nonzero(present[:, columns].T)[1].reshape(-1, count)
        picked = rows[chosen.T, columns]
        values[columns] = statistic(picked) * np.float32(count / len(parts))
    return Gradient(values, None if whole is not None else union)
