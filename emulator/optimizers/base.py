"""Protocols of optimizers, which turn the mean gradient of a step into a change of the model."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..vectors import Gradient, Vector

TINY = np.float32(1e-30)
"""Magnitude below which decaying state is set to zero; no float32 model would feel it."""

FLUSH_EVERY = 64
"""Steps between two flushes of tiny values."""


StateArrays: TypeAlias = Mapping[str, NDArray[Any]]
"""Arrays of an optimizer's state by name: float32[parameters], or int64[1] for a count."""


class OptimizerState(NamedTuple):
    """State of an optimizer between two steps, as it is saved with the model."""

    kind: str
    """Kind of the optimizer, for example `momentum`."""
    arrays: StateArrays
    """Arrays of the state; empty for an optimizer without memory."""

    def part(self, place: slice) -> "OptimizerState":
        """Return the state of the parameters in `place`; counts stay as they are."""
        arrays = {
            name: array[place] if array.dtype == np.float32 else array
            for name, array in self.arrays.items()
        }
        return OptimizerState(self.kind, arrays)


class Modulated(NamedTuple):
    """A gradient of a step with its weight `share / divisor`; the shares of a step add up to 1."""

    gradient: Gradient
    share: float
    divisor: np.float32 | Vector
    """Divisor of the modulation: one number, or one for each entry of the gradient."""


class Descent(Protocol):
    """State of an optimizer at the server."""

    everywhere: bool
    """Whether a step also changes parameters that its gradients do not hold."""

    def step(self, theta: Vector, gradients: Sequence[Modulated]) -> None:
        """Move `theta` in place along the mean of at least one gradient."""

    def state(self) -> StateArrays:
        """Return the arrays of the state. They are not copied: a later step changes them."""

    def restore(self, arrays: StateArrays) -> None:
        """Continue from `arrays`, which `state` of an optimizer of this kind has returned.

        Raises ValueError if their names, types or sizes differ from those of this state.
        """


class Optimizer(Protocol):
    """Frozen configuration; `start` makes the state."""

    @property
    def kind(self) -> str: ...

    def start(self, size: int, rate: float) -> Descent:
        """Return the state for a model of `size` parameters and the learning rate `rate`."""


def mean(gradients: Sequence[Modulated], size: int) -> Gradient:
    """Return the mean of weighted gradients; sparse only if a single, sparse gradient is given."""
    if len(gradients) == 1:
        gradient, share, divisor = gradients[0]
        return Gradient(np.float32(share) / divisor * gradient.values, gradient.indices)
    total = np.zeros(size, np.float32)
    for gradient, share, divisor in gradients:
        positions = slice(None) if gradient.indices is None else gradient.indices
        total[positions] += np.float32(share) / divisor * gradient.values
    return Gradient(total)


def fill_state(own: StateArrays, arrays: StateArrays) -> None:
    """Copy `arrays` into the arrays of `own`. Raises ValueError if they do not fit."""
    if own.keys() != arrays.keys():
        raise ValueError(f"the state holds {_listed(arrays)}, and {_listed(own)} was expected")
    for name, array in arrays.items():
        if (array.dtype, array.shape) != (own[name].dtype, own[name].shape):
            raise ValueError(
                f"{name} is {_described(array)}, and {_described(own[name])} was expected"
            )
    for name, array in arrays.items():
        own[name][...] = array


def _listed(arrays: StateArrays) -> str:
    return ", ".join(sorted(arrays)) or "no arrays"


def _described(array: NDArray[Any]) -> str:
    return f"{array.dtype}{list(array.shape)}"


def flush_tiny(*vectors: Vector) -> None:
    """Set entries below `TINY` in magnitude to zero, in place.

    Decaying values would otherwise end as denormal float32 numbers, with which some processors
    compute a hundred times slower.
    """
    for vector in vectors:
        vector[np.abs(vector) < TINY] = 0
