"""Mini-batches without end, and local steps of SGD over a few of them.

The shard is shuffled, used up, and shuffled again. The result of local steps is the sum of the
gradients on the way, so that one step of the server along it, at the device's rate, arrives at the
device's model. This is the difference of two models over the rate (McMahan et al., 2017, Algorithm
1); for a single mini-batch it is the gradient.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...chance import stream
from ...vectors import Vector
from ..datasets.examples import Examples, Subset
from .local_training import LocalTraining


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
