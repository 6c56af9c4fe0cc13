"""Failures that cannot be dated ahead: a device rolls its own dice once an iteration.

Runs in the device, so it is built from plain JSON.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from ..world import laws


class Hazard:
    """The `per_iteration` faults of one incarnation of one device.

    `config` is what `Device.hazards` holds: `{"kind", "per_iteration", "lasts"}` for each fault,
    `lasts` being a law as `laws.plain` writes it, or None.
    """

    def __init__(self, config: Sequence[Mapping[str, Any]], name: str) -> None:
        self._rng = Random(name)
        self._faults = [
            (str(fault["kind"]), float(fault["per_iteration"]), _law(fault.get("lasts")))
            for fault in config
        ]

    def strike(self) -> tuple[str, float | None] | None:
        """Which fault ends this iteration and for how many seconds (None: for good), if any.

        Call it once an iteration. When several would strike, the first in the file does.
        """
        # all are drawn each time: whether one strikes must not shift the dice of the others
        draws = [self._rng.random() for _ in self._faults]
        for drawn, (kind, chance, lasts) in zip(draws, self._faults, strict=True):
            if drawn < chance:
                return kind, None if lasts is None else lasts.draw(self._rng)
        return None


def _law(plain: Mapping[str, Any] | None) -> laws.Law | None:
    return None if plain is None else laws.read(plain)
