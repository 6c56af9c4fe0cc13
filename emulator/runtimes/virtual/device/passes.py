"""Computations that keep a device's processor busy: of a whole gradient, or through some layers."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ....core.worker import Computed
from ..learning.gradient_handle import GradientHandle, SegmentedHandle


class Pass(Protocol):
    """A computation of a device."""

    @property
    def began(self) -> float:
        """When the computation began."""

    @property
    def end(self) -> float:
        """When the computation ends, unless the device stands still meanwhile."""

    def over(self, now: float, /) -> object:
        """End the computation at the time `now`; return the result of the worker's command."""


class WholePass(NamedTuple):
    """The computation of a gradient at a whole model: forward and backward."""

    began: float
    end: float
    handle: GradientHandle

    def over(self, now: float, /) -> Computed[GradientHandle]:
        # by the clock of the wall, as a worker in a container measures it, pauses included
        return Computed(self.handle, self.handle.loss(), now - self.began)


class LayerPass(NamedTuple):
    """A forward or backward pass through the layers of a segment."""

    began: float
    end: float
    finished: Callable[[float], Computed[SegmentedHandle] | None]
    """Called with the time at which the pass ends; returns the result of the worker's command."""

    def over(self, now: float, /) -> Computed[SegmentedHandle] | None:
        return self.finished(now)
