"""Modulation `staleness`: divide the step by the number of steps since (Zhang et al., 2016)."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..layout import Layout
from ..plugins.stateful import Stateful
from ..vectors import Gradient


@dataclass(frozen=True)
class Staleness:
    """Staleness-aware steps: every entry is divided by max(1, σ).

    Zhang et al. (2016). σ counts the server's steps since the worker's model.
    """

    kind: Literal["staleness"] = "staleness"

    def start(self, layout: Layout, version: int = 0) -> "ByStaleness":
        return ByStaleness(version)

    def memory(self, layout: Layout, workers: int) -> int:
        return 0


class ByStaleness(Stateful):
    """Modulator with the ascending versions at which steps ended, back to the oldest in use."""

    STATE = ("_versions",)

    def __init__(self, version: int) -> None:
        self._versions = array("q", [version])

    @property
    def oldest(self) -> int:
        return self._versions[0]

    def divisor(self, gradient: Gradient, version: int) -> np.float32:
        # O(log steps kept): steps that ended after `version`
        since = len(self._versions) - 1 - bisect_left(self._versions, version)
        return np.float32(max(1, since))

    def applied(self, gradients: Sequence[Gradient]) -> None:
        self._versions.append(self._versions[-1] + len(gradients))

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        del self._versions[: min(bisect_left(self._versions, version), len(self._versions) - 1)]
