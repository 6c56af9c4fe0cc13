"""The model at the server: one flat vector, and the steps that change it."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..codecs.base import Gradient, Vector
from ..modulation.base import Modulator


class State(Protocol):
    """What a server holds and changes; `Parameters` in all that learns."""

    @property
    def version(self) -> int: ...

    @property
    def oldest(self) -> int: ...

    def apply(self, arrivals: Sequence[tuple[Gradient, int]]) -> list[float]: ...

    def snapshot(self) -> Vector: ...

    def forget(self, version: int) -> None: ...


class Parameters:
    """θ and the number of updates that made it what it is."""

    def __init__(
        self, initial: Vector, learning_rate: float, modulator: Modulator, version: int = 0
    ) -> None:
        self.theta: Vector = initial.astype(np.float32)
        self.version = version
        self._rate = learning_rate
        self._modulator = modulator
        self._lent: Vector | None = None

    @property
    def oldest(self) -> int:
        """The oldest version on which a gradient can still be taken."""
        return self._modulator.oldest

    def apply(self, arrivals: Sequence[tuple[Gradient, int]]) -> list[float]:
        """One step: θ -= α · mean of gradient / divisor, each with the version it is of.

        Each arrival is an update, and raises `version` by one. Returns the mean divisor of
        each. Sparse gradients cost O(entries).
        """
        self._unlend()
        rate = np.float32(self._rate / len(arrivals))
        # all before any is applied: gradients of one step are not stale to each other
        divisors = [self._modulator.divisor(gradient, version) for gradient, version in arrivals]
        for (gradient, _), divisor in zip(arrivals, divisors, strict=True):
            self._descend(gradient, rate / divisor)
            self._modulator.applied(gradient)
            self.version += 1
        return [float(np.mean(divisor)) if np.size(divisor) else 1.0 for divisor in divisors]

    def snapshot(self) -> Vector:
        """The model of this version, read-only: `apply` will leave it as it is.

        All callers between two steps get the same array, so it can be sent without a copy.
        """
        if self._lent is None:
            self._lent = self.theta.view()
            self._lent.flags.writeable = False
        return self._lent

    def forget(self, version: int) -> None:
        """Nobody computes on a model older than `version` any more."""
        self._modulator.forget(version)

    def _descend(self, gradient: Gradient, step: np.float32 | Vector) -> None:
        # a model that overflows shows in its loss; the server goes on
        with np.errstate(over="ignore", invalid="ignore"):
            change = step * gradient.values
            if gradient.indices is None:
                self.theta -= change
            else:
                self.theta[gradient.indices] -= change

    def _unlend(self) -> None:
        if self._lent is not None:
            self.theta, self._lent = self.theta.copy(), None
