"""The model at the server: one flat vector, and the steps that change it."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from ..modulation.base import Modulator
from ..optimizers.base import Modulated, Optimizer
from ..optimizers.sgd import SGD
from ..vectors import Gradient, Vector

_SGD = SGD()


class State(Protocol):
    """What a server holds and changes; `Parameters` in all that learns."""

    @property
    def theta(self) -> Vector: ...

    @property
    def version(self) -> int: ...

    @property
    def oldest(self) -> int: ...

    @property
    def everywhere(self) -> bool: ...

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]: ...

    def snapshot(self) -> Vector: ...

    def forget(self, version: int, needed: Iterable[int] = ()) -> None: ...


class Parameters:
    """θ and the number of updates that made it what it is."""

    def __init__(
        self,
        initial: Vector,
        learning_rate: float,
        modulator: Modulator,
        version: int = 0,
        optimizer: Optimizer = _SGD,
    ) -> None:
        self.theta: Vector = initial.astype(np.float32)
        """As it is now: `apply` changes it in place, unless it is lent."""
        self.version = version
        self._modulator = modulator
        self._descent = optimizer.start(initial.size, learning_rate)
        self._lent: Vector | None = None

    @property
    def oldest(self) -> int:
        """The oldest version on which a gradient can still be taken."""
        return self._modulator.oldest

    @property
    def everywhere(self) -> bool:
        """Whether a step changes parameters that no gradient of it holds."""
        return self._descent.everywhere

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]:
        """One step along the mean of gradient / divisor, each with the version it is of.

        `weights` are those of the mean; None: all count alike. Each arrival is an update, and
        raises `version` by one. Returns the mean divisor of each. With SGD sparse gradients cost
        O(entries).
        """
        self._unlend()
        # all before any is applied: gradients of one step are not stale to each other
        divisors = [self._modulator.divisor(gradient, version) for gradient, version in arrivals]
        gradients = [gradient for gradient, _ in arrivals]
        shares = _shares(weights or [1] * len(arrivals))
        step = [Modulated(*parts) for parts in zip(gradients, shares, divisors, strict=True)]
        # a model that overflows shows in its loss; the server goes on
        with np.errstate(over="ignore", invalid="ignore"):
            self._descent.step(self.theta, step)
        self._modulator.applied(gradients)
        self.version += len(arrivals)
        return [float(np.mean(divisor)) if np.size(divisor) else 1.0 for divisor in divisors]

    def snapshot(self) -> Vector:
        """The model of this version, read-only: `apply` will leave it as it is.

        All callers between two steps get the same array, so it can be sent without a copy.
        """
        if self._lent is None:
            self._lent = self.theta.view()
            self._lent.flags.writeable = False
        return self._lent

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        """Nobody computes on a model older than `version` any more.

        `needed`, if not empty: the versions from there on that somebody computes on, in order.
        """
        self._modulator.forget(version, needed)

    def _unlend(self) -> None:
        if self._lent is not None:
            self.theta, self._lent = self.theta.copy(), None


def _shares(weights: Sequence[float]) -> list[float]:
    whole = sum(weights)
    return [weight / whole for weight in weights]
