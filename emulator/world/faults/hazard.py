"""Faults without a planned time: a device draws in each iteration whether a fault strikes.

The draws run on the device, so a hazard is built from plain JSON.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from ... import chance
from .. import laws
from ..verbs import Action


class DrawnFault(NamedTuple):
    """A fault that strikes in this iteration."""

    begin: Action
    end: Action
    """Not done if the fault lasts for good."""
    lasts: float | None
    """Seconds from the begin to the end; None: for good."""


class Hazard:
    """Draws the `per_iteration` faults for an incarnation of a device."""

    def __init__(
        self, config: Sequence[Mapping[str, Any]], seed: int, device: str, incarnation: int
    ) -> None:
        """Draw the faults of `config`; `seed` is the run's.

        `config` is `Device.hazards`: `{"kind", "begin", "end", "setting", "per_iteration",
        "lasts"}` for each fault, with its verbs, and `lasts` a law as `laws.plain` writes it, or
        None for good.
        """
        self._rng, self._device = Random(chance.hazard(seed, device, incarnation)), device
        self._faults = [
            (fault, float(fault["per_iteration"]), _law(fault.get("lasts"))) for fault in config
        ]

    def strike(self) -> DrawnFault | None:
        """Draw whether a fault strikes; return the fault, or None.

        Call this once an iteration, before the gradient. If several faults would strike, the first
        in the file does.
        """
        # every fault draws in each iteration: no outcome must shift the draws of the other faults
        draws = [self._rng.random() for _ in self._faults]
        for drawn, (fault, share, lasts) in zip(draws, self._faults, strict=True):
            if drawn < share:
                kind, setting = str(fault["kind"]), fault.get("setting")
                begin = Action(str(fault["begin"]), self._device, kind, setting)
                end = Action(str(fault["end"]), self._device, kind)
                seconds = None if lasts is None else lasts.draw(self._rng)
                return DrawnFault(begin, end, seconds)
        return None


def _law(plain: Mapping[str, Any] | None) -> laws.Law | None:
    return None if plain is None else laws.read(plain)
