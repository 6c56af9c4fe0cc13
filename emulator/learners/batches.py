"""Mini-batches without end: the shard is shuffled, dealt out, and shuffled again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..chance import stream
from ..datasets.examples import Examples, Subset


class Batches:
    """An endless iterator of batches of exactly `size` examples, in an order that `name` decides.

    An epoch's remainder goes first in the next one's, so that all examples serve equally often;
    `one_pass` is for those who need whole ones.
    """

    def __init__(self, examples: Examples | Subset, size: int, name: str) -> None:
        if not 0 < size <= len(examples):
            raise ValueError(f"{len(examples)} examples make no batch of {size}")
        self.examples, self.size = examples, size
        self._rng = stream(name)
        self._left: NDArray[np.integer[Any]] = self._shuffled()

    @property
    def per_epoch(self) -> int:
        """Batches in one pass over the examples, at least one."""
        return len(self.examples) // self.size

    def __iter__(self) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int32]]]:
        return self

    def __next__(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        return self.examples.batch(self.draw())

    def draw(self) -> NDArray[np.integer[Any]]:
        """The numbers of the next batch's examples, for whoever gathers them elsewhere."""
        if len(self._left) < self.size:
            self._left = np.concatenate([self._left, self._shuffled()])
        batch, self._left = self._left[: self.size], self._left[self.size :]
        return batch

    def one_pass(self) -> list[NDArray[np.integer[Any]]]:
        """The numbers of every example once, in batches of which the last may be smaller."""
        order = self._shuffled()
        return [order[start : start + self.size] for start in range(0, len(order), self.size)]

    def _shuffled(self) -> NDArray[np.integer[Any]]:
        return self._rng.permutation(len(self.examples))
