"""Modulation shortens the step of a gradient that was computed on an old model.

How old counts in steps of the server: where several gradients make one step (softsync, a
barrier), the model changed once. Versions count updates all the same, one for each gradient.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from ..layout import Layout
from ..vectors import Gradient, Vector


class Modulator(Protocol):
    """What one server holds. Versions count the updates applied; all arithmetic is float32."""

    @property
    def oldest(self) -> int:
        """The oldest version that `divisor` still answers for exactly."""

    def divisor(self, gradient: Gradient, version: int) -> np.float32 | Vector:
        """What the step of a gradient computed on model `version` is divided by, at least 1.

        One number, or one for each entry of the gradient.
        """

    def applied(self, gradients: Sequence[Gradient]) -> None:
        """These gradients made one step; each raised the version by one."""

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        """Nobody computes on a model older than `version` any more.

        `needed`, if not empty: the versions from there on that somebody computes on, in order.
        Beside them only the newest will be asked about. It is read seldom.
        """


class Modulation(Protocol):
    """Frozen configuration; `start` makes the state."""

    def start(self, layout: Layout, version: int = 0) -> Modulator:
        """For a server whose model stands at `version`, of whose past nothing is known."""

    def memory(self, layout: Layout, workers: int) -> int:
        """Return the bytes that the state takes at most, beside a few for each worker."""
