"""Computations that keep a device's processor busy: a boot, a gradient, a pass through some layers.

A pass is planned as pieces of work, one after the other. When the CPU quota of the device changes,
the pieces that are left are planned anew.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self

from ....core.worker import Computed
from ..learning.gradient_handle import GradientHandle

Finish = Callable[[float, float], float]
"""Returns the end of work: of a begin, and of seconds of a whole core."""


class WorkPiece(NamedTuple):
    """A piece of work without a pause."""

    began: float
    work: float
    """Seconds of a whole core."""
    end: float


class Pass(Protocol):
    """A computation of a device."""

    @property
    def began(self) -> float:
        """When the present plan of the computation begins."""

    @property
    def end(self) -> float:
        """When the computation ends, unless the device stands still meanwhile."""

    @property
    def pieces(self) -> Sequence[WorkPiece]:
        """The pieces of the computation, in order."""

    def replanned(self, pieces: Sequence[WorkPiece], now: float) -> Self:
        """Return the computation with `pieces`, of which those left were planned at `now`."""

    def over(self, now: float, /) -> object:
        """End the computation at the time `now`; return the result of the worker's command."""


def planned(now: float, works: Iterable[float], finish: Finish) -> list[WorkPiece]:
    """Plan the `works`, in seconds of a whole core, one after the other from `now` on."""
    pieces: list[WorkPiece] = []
    for work in works:
        pieces.append(WorkPiece(now, work, finish(now, work)))
        now = pieces[-1].end
    return pieces


class Boot(NamedTuple):
    """The boot of a device."""

    began: float
    work: float
    end: float
    then: Callable[[], None]
    """Begins the worker."""

    @property
    def pieces(self) -> tuple[WorkPiece]:
        return (WorkPiece(self.began, self.work, self.end),)

    def replanned(self, pieces: Sequence[WorkPiece], now: float) -> Self:
        return self._replace(**pieces[-1]._asdict())

    def over(self, now: float, /) -> None:
        self.then()


class WholePass(NamedTuple):
    """The computation of a gradient at a whole model: forward and backward."""

    since: float
    """When the computation began."""
    began: float
    work: float
    end: float
    handle: GradientHandle

    @property
    def pieces(self) -> tuple[WorkPiece]:
        return (WorkPiece(self.began, self.work, self.end),)

    def replanned(self, pieces: Sequence[WorkPiece], now: float) -> Self:
        return self._replace(**pieces[-1]._asdict())

    def over(self, now: float, /) -> Computed[GradientHandle]:
        # by the clock of the wall, as a worker in a container measures it, pauses included
        return Computed(self.handle, self.handle.loss(), now - self.since)


class PiecewisePass(NamedTuple):
    """A forward or backward pass through some layers, with a piece of work for each layer."""

    since: float
    """When the pass began."""
    began: float
    pieces: Sequence[WorkPiece]
    finished: Callable[[float, list[float]], Any]
    """Called with the time at which the pass ends, and the seconds of each piece; returns the
    result of the worker's command."""

    @classmethod
    def begin(
        cls,
        now: float,
        works: Iterable[float],
        finish: Finish,
        finished: Callable[[float, list[float]], Any],
    ) -> "PiecewisePass":
        """Begin the `works`, in seconds of a whole core, one after the other at the time `now`."""
        return cls(now, now, planned(now, works, finish), finished)

    @property
    def end(self) -> float:
        return self.pieces[-1].end

    def replanned(self, pieces: Sequence[WorkPiece], now: float) -> Self:
        return self._replace(began=now, pieces=pieces)

    def over(self, now: float, /) -> Any:
        # waits for the CPU quota belong to a piece, and pauses to none
        ends = [self.since, *(piece.end for piece in self.pieces)]
        return self.finished(now, [end - began for began, end in pairwise(ends)])
