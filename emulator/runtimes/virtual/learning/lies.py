"""The lies of a device in virtual time, where background threads encode its gradients.

A lie is chosen when the device begins to compute, in the order of virtual time; the thread that
encodes the gradient falsifies it.
"""

from collections.abc import Callable
from typing import TypeAlias

from ....core.falsifying import Falsifier
from ....layout import Segment
from ....vectors import Vector
from ....world.verbs import Setting

LieNow: TypeAlias = Callable[[], Setting | None]
"""Returns the setting under which a device lies at this moment; None: it does not."""

Falsified: TypeAlias = Callable[[Vector, Segment | None], Vector]
"""Returns what a device encodes in place of a gradient; of the layers of a segment, or whole."""


class Lies:
    """The lies of one incarnation of a device."""

    def __init__(self, falsifier: Falsifier, setting: LieNow) -> None:
        self._falsifier, self._setting = falsifier, setting

    def begin(self) -> Falsified:
        """Return what becomes of the gradient that the device begins to compute."""
        setting, falsifier = self._setting(), self._falsifier
        return lambda gradient, segment: falsifier.falsify(gradient, setting, segment)


def honest(gradient: Vector, segment: Segment | None) -> Vector:
    """Return `gradient` as it is: a Falsified of a device that never lies."""
    return gradient
