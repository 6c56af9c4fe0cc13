"""Mini-batches without end: the shard is shuffled, used up, and shuffled again."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chance import stream
from ..datasets.examples import Examples, Subset


class Position(NamedTuple):
    """A place in the endless sequence of mini-batches."""

    draws: Mapping[str, Any]
    """State of the random stream, as NumPy gives it."""
    unused: NDArray[np.integer[Any]]
    """Numbers of the examples that are left of the shuffled ones."""


class Batches:
    """Endless iterator of batches with exactly `size` examples, in an order that `name` decides.

    The remainder of an epoch begins the next epoch's first batch, so that all examples are used
    equally often. `one_pass` yields whole epochs instead.
    """

    def __init__(
        self, examples: Examples | Subset, size: int, name: str, noise: str | None = None
    ) -> None:
        """Begin with a shuffle of `examples`. Raises ValueError if they make no batch of `size`.

        `noise` names the stream of the noise in a model's layers; None: the model has none.
        """
        if not 0 < size <= len(examples):
            raise ValueError(f"{len(examples)} examples make no batch of {size}")
        self.examples, self.size = examples, size
        self._rng, self._noise, self._noises = stream(name), noise, 0
        self._unused: NDArray[np.integer[Any]] = self._shuffled()

    @property
    def per_epoch(self) -> int:
        """Number of full batches in a pass over the examples, at least one."""
        return len(self.examples) // self.size

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:
        return self

    def __next__(self) -> tuple[NDArray[Any], ...]:
        """Return inputs and labels of the next batch, and its noise if there is any."""
        return (*self.examples.batch(self.draw()), *self.noise())

    def noise(self) -> tuple[NDArray[np.int64], ...]:
        """Return the two numbers that seed the noise of the next batch; nothing without noise."""
        if self._noise is None:
            return ()
        self._noises += 1
        digest = sha256(f"{self._noise}/{self._noises}".encode()).digest()
        return (np.frombuffer(digest, "<u4", 2).astype(np.int64) >> 1,)

    def draw(self) -> NDArray[np.integer[Any]]:
        """Return the numbers of the next batch's examples."""
        if len(self._unused) < self.size:
            self._unused = np.concatenate([self._unused, self._shuffled()])
        batch, self._unused = self._unused[: self.size], self._unused[self.size :]
        return batch

    def position(self) -> Position:
        """Return the place behind the last batch."""
        return Position(self._rng.bit_generator.state, self._unused.copy())

    def seek(self, position: Position) -> None:
        """Go on at `position`. Raises ValueError if it is not one in these examples."""
        unused = position.unused
        if unused.ndim != 1 or unused.dtype.kind not in "iu":
            raise ValueError("a position holds numbers of examples")
        if len(unused) and not 0 <= unused.min() <= unused.max() < len(self.examples):
            raise ValueError(f"a position in {len(self.examples)} examples goes beyond them")
        self._rng.bit_generator.state = dict(position.draws)
        self._unused = unused

    def one_pass(self) -> list[NDArray[np.integer[Any]]]:
        """Return the numbers of all examples in batches; the last batch may be smaller."""
        order = self._shuffled()
        return [order[start : start + self.size] for start in range(0, len(order), self.size)]

    def _shuffled(self) -> NDArray[np.integer[Any]]:
        return self._rng.permutation(len(self.examples))
