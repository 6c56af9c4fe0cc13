"""Divide each parameter's step by how often it was touched since (AdaComp: Hardy et al., 2017).

A sparse update touches few parameters, so most of those in a stale gradient are fresh still,
and their step stays long where `Staleness` would shorten it.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..codecs.base import Gradient, Vector
from ..layout import Layout
from .history import History


@dataclass(frozen=True)
class PerParameter:
    """Divide entry k by max(1, σ_k): the updates since the worker's model that held k."""

    kind: Literal["per-parameter"] = "per-parameter"

    def start(self, layout: Layout, version: int = 0) -> "ByParameter":
        return ByParameter(History(layout.size, version))


class ByParameter:
    """Answers for the versions that its history reaches back to."""

    def __init__(self, history: History) -> None:
        self._history = history

    @property
    def oldest(self) -> int:
        return self._history.oldest

    def divisor(self, gradient: Gradient, version: int) -> np.float32 | Vector:
        touched = self._history.since(version, gradient.indices)
        if isinstance(touched, int):
            return np.float32(max(1, touched))
        divisors: Vector = np.maximum(touched, 1).astype(np.float32)
        return divisors

    def applied(self, gradient: Gradient) -> None:
        self._history.record(gradient.indices)

    def forget(self, version: int) -> None:
        self._history.forget(version)
