"""Modulation `per-parameter` of AdaComp (Hardy et al., 2017): staleness for each parameter.

A sparse update touches few parameters. So most parameters of a stale gradient are still fresh, and
their step stays long where the modulation `staleness` would shorten it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..layout import Layout
from ..plugins.stateful import Stateful
from ..vectors import Gradient, Indices, Vector
from .history import History, bound

_NOTHING: Indices = np.empty(0, np.uint32)


@dataclass(frozen=True)
class PerParameter:
    """AdaComp's modulation: entry k is divided by max(1, σ_k).

    Hardy et al. (2017). σ_k counts the steps since the worker's model whose gradients held entry k.
    """

    kind: Literal["per-parameter"] = "per-parameter"

    def start(self, layout: Layout, version: int = 0) -> "ByParameter":
        return ByParameter(History(layout.size, version), layout.size)

    def memory(self, layout: Layout, workers: int) -> int:
        return bound(layout.size, workers + 1)  # each worker's version, and the newest


class ByParameter(Stateful):
    """Modulator that counts touched parameters in a `History`."""

    STATE = ("_history",)

    def __init__(self, history: History, size: int) -> None:
        self._history, self._size = history, size

    @property
    def oldest(self) -> int:
        return self._history.oldest

    def divisor(self, gradient: Gradient, version: int) -> np.float32 | Vector:
        touched = self._history.since(version, gradient.indices)
        if isinstance(touched, int):
            return np.float32(max(1, touched))
        divisors: Vector = np.maximum(touched, 1).astype(np.float32)
        return divisors

    def applied(self, gradients: Sequence[Gradient]) -> None:
        self._history.record(self._touched([gradient.indices for gradient in gradients]))
        for _ in gradients[1:]:  # versions inside a step, which no worker ever gets
            self._history.record(_NOTHING)

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        self._history.forget(version, needed)

    def _touched(self, indices: list[Indices | None]) -> Indices | None:
        """Return the parameters moved by a step with these `indices`; None means everything."""
        sparse = [part for part in indices if part is not None]
        if len(sparse) < len(indices):
            return None
        if len(sparse) == 1:
            return sparse[0]
        touched = np.zeros(self._size, bool)
        for part in sparse:
            touched[part] = True
        return np.flatnonzero(touched).astype(np.uint32)
