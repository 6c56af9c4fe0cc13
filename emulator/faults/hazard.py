"""Faults without a planned time: a device draws in each iteration whether a fault strikes.

The draws run on the device, so a hazard is built from plain JSON.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from ..world import laws


class Hazard:
    """Draws the `per_iteration` faults for an incarnation of a device."""

    def __init__(self, config: Sequence[Mapping[str, Any]], name: str) -> None:
        """Draw the faults of `config` from the random stream `name`.

        `config` is `Device.hazards`: `{"kind", "per_iteration", "lasts"}` for each fault, where
        `lasts` is a law as `laws.plain` writes it, or None for good.
        """
        self._rng = Random(name)
        self._faults = [
            (str(fault["kind"]), float(fault["per_iteration"]), _law(fault.get("lasts")))
            for fault in config
        ]

    def strike(self) -> tuple[str, float | None] | None:
        """Draw, and return kind and seconds (None: for good) of the fault; None without a fault.

        Call this once an iteration. If several faults would strike, the first in the file does.
        """
        # every fault draws in each iteration: no outcome must shift the draws of the other faults
        draws = [self._rng.random() for _ in self._faults]
        for drawn, (kind, chance, lasts) in zip(draws, self._faults, strict=True):
            if drawn < chance:
                return kind, None if lasts is None else lasts.draw(self._rng)
        return None


def _law(plain: Mapping[str, Any] | None) -> laws.Law | None:
    return None if plain is None else laws.read(plain)
