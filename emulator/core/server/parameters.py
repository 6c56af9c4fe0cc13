"""The server's model: a flat vector of parameters, and the steps that change the vector.

A cut model has two vectors, each with steps of its own.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from ...aggregation import Aggregation, Mean
from ...modulation.base import Modulator
from ...optimizers.base import Modulated, Optimizer, OptimizerState
from ...optimizers.sgd import SGD
from ...plugins.stateful import Stateful
from ...vectors import Gradient, Vector
from .lendable_vector import LendableVector

_SGD = SGD()
_MEAN = Mean()


class Saved(Protocol):
    """The model as it is measured and saved."""

    @property
    def version(self) -> int: ...

    def snapshot(self) -> Vector: ...

    def optimizer_state(self) -> OptimizerState: ...


class State(Saved, Protocol):
    """The model as the server needs it. `Parameters` implements this for every run that learns."""

    @property
    def theta(self) -> Vector: ...

    @property
    def oldest(self) -> int: ...

    @property
    def everywhere(self) -> bool: ...

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]: ...

    def forget(self, version: int, needed: Iterable[int] = ()) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


class Parameters(Stateful):
    """The parameters θ, and the number of updates applied to them."""

    STATE = ("theta", "version", "_modulator", "_descent")

    def __init__(
        self,
        initial: Vector,
        learning_rate: float,
        modulator: Modulator,
        version: int = 0,
        optimizer: Optimizer = _SGD,
        state: OptimizerState | None = None,
        aggregation: Aggregation = _MEAN,
    ) -> None:
        """`state`, if it is of the kind of `optimizer`, is the state that the first step finds.

        `aggregation` makes one step of several gradients.

        Raises ValueError if `state` is of this kind and does not fit.
        """
        self._vector = LendableVector(initial.astype(np.float32))
        self.version = version
        self._modulator, self._aggregation = modulator, aggregation
        self._descent, self._kind = optimizer.start(initial.size, learning_rate), optimizer.kind
        if state is not None and state.kind == optimizer.kind:
            self._descent.restore(state.arrays)

    @property
    def theta(self) -> Vector:
        """θ, f32[N]. A later step may change the array; `snapshot` returns one that stays."""
        return self._vector.values

    @theta.setter
    def theta(self, values: Vector) -> None:
        self._vector = LendableVector(values)

    @property
    def oldest(self) -> int:
        """Oldest version whose gradients can still be applied."""
        return self._modulator.oldest

    @property
    def everywhere(self) -> bool:
        """Whether a step may change parameters without an entry in the gradients."""
        return self._descent.everywhere

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]:
        """Take one step along the mean of gradient / divisor, or along what the aggregation makes
        of them; return the mean divisor of each.

        `arrivals` holds pairs of a gradient and the version of the model on which it was computed,
        `weights` their weights in the mean; None weighs all alike. Each arrival is an update and
        raises `version` by one. With SGD a sparse gradient costs O(entries).
        """
        self._vector.reclaim()
        # divisors first: gradients of one step are not stale to each other
        divisors = [self._modulator.divisor(gradient, version) for gradient, version in arrivals]
        gradients = [gradient for gradient, _ in arrivals]
        shares = _shares(weights or [1] * len(arrivals))
        step = [Modulated(*parts) for parts in zip(gradients, shares, divisors, strict=True)]
        # a model that overflows shows in its loss; the server goes on
        with np.errstate(over="ignore", invalid="ignore"):
            combined = self._aggregation.combine(step)
            self._descent.step(self.theta, combined)
        everywhere = self._descent.everywhere
        self._vector.changed([None if everywhere else each.gradient.indices for each in combined])
        self._modulator.applied(gradients)
        self.version += len(arrivals)
        return [float(np.mean(divisor)) if np.size(divisor) else 1.0 for divisor in divisors]

    def snapshot(self) -> Vector:
        """Return the model of this version, f32[N], read-only; later steps do not change it.

        All callers between two steps get the same array, so the model is sent without a copy.
        """
        return self._vector.lend()

    def optimizer_state(self) -> OptimizerState:
        """Return the state of the optimizer; its arrays are not copied, and a step changes them."""
        return OptimizerState(self._kind, self._descent.state())

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        """Drop the history that only gradients on models older than `version` would need.

        `needed`, if not empty, holds the versions on which nodes compute, in ascending order.
        """
        self._modulator.forget(version, needed)


def _shares(weights: Sequence[float]) -> list[float]:
    """Return `weights` divided by their sum."""
    whole = sum(weights)
    return [weight / whole for weight in weights]


class JoinedState:
    """Reads the parts of a model as the model that they are together."""

    def __init__(self, devices: Saved, server: Saved) -> None:
        self._devices, self._server = devices, server

    @property
    def version(self) -> int:
        """Updates applied to the devices' part."""
        return self._devices.version

    def snapshot(self) -> Vector:
        """Return the parameters of both parts, f32[N]."""
        return np.concatenate([self._devices.snapshot(), self._server.snapshot()])

    def optimizer_state(self) -> OptimizerState:
        """Return the state of both parts' optimizer; its counts are those of the devices' part."""
        return joined_optimizer_states(
            [self._devices.optimizer_state(), self._server.optimizer_state()]
        )


def joined_optimizer_states(parts: Sequence[OptimizerState]) -> OptimizerState:
    """Return the state of an optimizer over the parameters of all `parts`, one part behind the
    other; its counts are those of the first part."""
    kind, first = parts[0]
    joined = {
        name: np.concatenate([part.arrays[name] for part in parts])
        if array.dtype == np.float32
        else array
        for name, array in first.items()
    }
    return OptimizerState(kind, joined)
