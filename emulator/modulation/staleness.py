"""Divide the step by how many updates came in between (Zhang et al., 2016)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..codecs.base import Gradient
from ..layout import Layout


@dataclass(frozen=True)
class Staleness:
    """Divide by max(1, σ), σ being the updates applied since the worker's model."""

    kind: Literal["staleness"] = "staleness"

    def start(self, layout: Layout, version: int = 0) -> "ByStaleness":
        return ByStaleness(version)


class ByStaleness:
    """Counts versions, so it answers for all of them."""

    oldest = 0

    def __init__(self, version: int) -> None:
        self._version = version

    def divisor(self, gradient: Gradient, version: int) -> np.float32:
        return np.float32(max(1, self._version - version))

    def applied(self, gradient: Gradient) -> None:
        self._version += 1

    def forget(self, version: int) -> None:
        pass
