"""Modulation `constant`: a full step for every gradient, as in plain asynchronous SGD."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..layout import Layout
from ..plugins.stateful import Stateful
from ..vectors import Gradient

_ONE = np.float32(1)


@dataclass(frozen=True)
class Constant:
    """No modulation: every gradient takes a full step, however stale."""

    kind: Literal["constant"] = "constant"

    def start(self, layout: Layout, version: int = 0) -> "Unmodulated":
        return Unmodulated()

    def memory(self, layout: Layout, workers: int) -> int:
        return 0


class Unmodulated(Stateful):
    """Modulator without state; the divisor is always 1."""

    oldest = 0

    def divisor(self, gradient: Gradient, version: int) -> np.float32:
        return _ONE

    def applied(self, gradients: Sequence[Gradient]) -> None:
        pass

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        pass
