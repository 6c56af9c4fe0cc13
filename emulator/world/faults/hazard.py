"""Faults without a planned time: a device draws in each iteration whether a fault strikes.

The draws run on the device, so a hazard is built from plain JSON.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from .. import laws
from ..verbs import Setting


class Strike(NamedTuple):
    """A fault that was drawn for the present iteration."""

    kind: str
    begin: str
    """Verb with which the fault begins."""
    end: str
    """Verb that undoes `begin`; not done if the fault lasts for good."""
    setting: Setting | None
    lasts: float | None
    """Seconds from the begin to the end; None: for good."""


class Hazard:
    """Draws the `per_iteration` faults for an incarnation of a device."""

    def __init__(self, config: Sequence[Mapping[str, Any]], name: str) -> None:
        """Draw the faults of `config` from the random stream `name`.

        `config` is `Device.hazards`: `{"kind", "begin", "end", "setting", "per_iteration",
        "lasts"}` for each fault, with its verbs, and `lasts` a law as `laws.plain` writes it, or
        None for good.
        """
        self._rng = Random(name)
        self._faults = [
            (fault, float(fault["per_iteration"]), _law(fault.get("lasts"))) for fault in config
        ]

    def strike(self) -> Strike | None:
        """Draw whether a fault strikes; return the fault, or None.

        Call this once an iteration. If several faults would strike, the first in the file does.
        """
        # every fault draws in each iteration: no outcome must shift the draws of the other faults
        draws = [self._rng.random() for _ in self._faults]
        for drawn, (fault, chance, lasts) in zip(draws, self._faults, strict=True):
            if drawn < chance:
                seconds = None if lasts is None else lasts.draw(self._rng)
                verbs = str(fault["kind"]), str(fault["begin"]), str(fault["end"])
                return Strike(*verbs, fault.get("setting"), seconds)
        return None


def _law(plain: Mapping[str, Any] | None) -> laws.Law | None:
    return None if plain is None else laws.read(plain)
