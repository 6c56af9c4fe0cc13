"""Protocols of modulation, which shortens the step of a gradient computed on an old model.

Staleness counts steps of the server: where several gradients make one step (softsync, a barrier),
the model changed once. Versions count updates, one for each gradient.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from ..layout import Layout
from ..vectors import Gradient, Vector


class Modulator(Protocol):
    """State of a server. Versions count applied updates; arithmetic is float32."""

    @property
    def oldest(self) -> int:
        """Oldest version for which `divisor` is still exact."""

    def divisor(self, gradient: Gradient, version: int) -> np.float32 | Vector:
        """Return the divisor, at least 1, of the step of `gradient`, computed on model `version`.

        The divisor is one number, or float32 with one number for each entry of `gradient`.
        """

    def applied(self, gradients: Sequence[Gradient]) -> None:
        """Record that `gradients` made a step; every gradient raised the version by 1."""

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        """Drop state about versions before `version`, on which no worker computes any more.

        `needed`, if not empty, gives the later versions on which workers compute, in ascending
        order; besides these only the newest version will be asked about. It is read rarely.
        """


class Modulation(Protocol):
    """Frozen configuration; `start` makes the state."""

    def start(self, layout: Layout, version: int = 0) -> Modulator:
        """Return the state of a server with its model at `version` and an unknown past."""

    def memory(self, layout: Layout, workers: int) -> int:
        """Return the largest size of the state in bytes, beside a few bytes for each worker."""
