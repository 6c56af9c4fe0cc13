"""Computations that keep a device's processor busy: a boot, a gradient, a pass through some layers.

A pass is planned as pieces of work, one after the other. When the CPU quota of the device changes,
the pieces that are left are planned anew.

An iteration over a whole model is one pass. A device that holds the layers before a cut, or pulls
and pushes in segments of layers, makes several passes an iteration, which `Passes` plans.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self

from ....core.scheduling.scheduler import Scheduler
from ....core.wire.messages import ActivationGradient, Logits, Pull, Request, UpdateSegment
from ....core.worker.worker import Computed, LossGradient
from ....layout import Segment
from ....learning.learners.base import Activated
from ....vectors import Vector
from ..learning.gradient_handle import GradientHandle, PrefetchedSegment

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
    def since(self) -> float:
        """When the computation began."""

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
    def since(self) -> float:
        return self.began

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


class LayerTimes(NamedTuple):
    """Parts of a step that the layers of a device take, the layer nearest to the input first."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]


class SlopesDecoder(Protocol):
    """Turns answers of the server into arrays; `DeviceCoder` does so for real answers."""

    def slopes(self, answer: ActivationGradient, rows: int, /) -> Vector:
        """Return the gradient by the activations of `rows` examples."""

    def logits(self, answer: Logits, /) -> Vector:
        """Return the logits, row by row."""


class Passes:
    """The passes of one incarnation of a device that makes several passes an iteration.

    A pass computes the layers of a segment one after the other. The time of an iteration is one
    draw from the law of a step; each layer takes its share of the draw. A scheduler observes
    transfers and passes at the same moments as in a container. The loss at a device whose labels
    stay local takes no time.
    """

    __slots__ = ("_computed", "_decoder", "_handle", "_step", "_ticket", "_times", "scheduler")

    def __init__(
        self,
        times: LayerTimes,
        scheduler: Scheduler | None = None,
        decoder: SlopesDecoder | None = None,
    ) -> None:
        """`scheduler` cuts the iterations of a device that pulls and pushes in segments.

        `decoder` takes the answers at the cut of a model; the device's part counts as one layer.
        """
        self.scheduler, self._times, self._decoder = scheduler, times, decoder
        self._handle: Any = None  # of the iteration that goes on
        self._step = 0.0  # seconds of a whole core for this iteration
        self._computed = 0.0  # seconds of this iteration's passes so far
        self._ticket: int | None = None  # of the last pull

    def sent(self, message: Request, size: int, now: float) -> None:
        """Observe a `message` of `size` bytes that was given to the link."""
        if self.scheduler is None:
            return
        if isinstance(message, UpdateSegment):
            self.scheduler.handed(message.segment, size, now)
        elif isinstance(message, Pull):
            self._ticket = message.ticket
            self.scheduler.begin(now)

    def arrived(self, piece: PrefetchedSegment, size: int, now: float) -> bool:
        """Observe a `piece` of `size` bytes of an answer; answers to earlier pulls do not count.

        Return whether the device holds the model of `piece` from now on: the piece is the last.
        """
        if piece.ticket != self._ticket or self.scheduler is None:
            return False
        self.scheduler.arrived(piece.segment, size, now)
        if piece.times is not None:
            self.scheduler.told(piece.times)
        return piece.segment[1] == len(self._times.forward)

    def begin(self, handle: Any, step: float) -> None:
        """Begin an iteration of `step` seconds of a whole core; `handle` is on its gradient."""
        self._handle, self._step, self._computed = handle, step, 0.0

    def forward(self, segment: Segment, now: float, finish: Finish) -> PiecewisePass:
        """Begin the forward pass of the layers of `segment` at the time `now`."""
        handle = self._handle

        def over(ended: float, seconds: list[float]) -> Activated | None:
            self._computed += ended - now
            if self.scheduler is None:
                activated: Activated = handle.activated()
                return activated
            self.scheduler.forward(segment, seconds, now, ended)
            return None

        return self._pass(_part(self._times.forward, segment), now, finish, over)

    def loss(self, answer: Logits) -> LossGradient:
        """Return the loss of the mini-batch at the logits of `answer`."""
        loss: LossGradient = self._handle.loss_at(self._at_the_cut.logits(answer))
        return loss

    def backward(self, segment: Segment, now: float, finish: Finish) -> PiecewisePass:
        """Begin the backward pass of the layers of `segment` at the time `now`."""
        handle, scheduler = self._handle, self.scheduler
        handle.begin(segment)

        def over(ended: float, seconds: list[float]) -> Computed[Any]:
            self._computed += ended - now
            if scheduler is not None:
                scheduler.backward(segment, seconds[::-1], now, ended)
            return Computed(handle, handle.loss(), self._computed)

        # the last layer is computed first
        return self._pass(_part(self._times.backward, segment)[::-1], now, finish, over)

    def backward_from(
        self, answer: ActivationGradient, now: float, finish: Finish
    ) -> PiecewisePass:
        """Begin the backward pass of the device's part from the gradient in `answer`."""
        handle, computed = self._handle, self._computed
        handle.begin_from(self._at_the_cut.slopes(answer, handle.rows))

        def over(ended: float, seconds: list[float]) -> Computed[Any]:
            return Computed(handle, answer.loss, computed + ended - now)

        return self._pass(self._times.backward, now, finish, over)

    def _pass(
        self,
        parts: Iterable[float],
        now: float,
        finish: Finish,
        over: Callable[[float, list[float]], Any],
    ) -> PiecewisePass:
        """Begin a pass through layers one after the other; `parts` are their parts of the step."""
        return PiecewisePass.begin(now, (part * self._step for part in parts), finish, over)

    @property
    def _at_the_cut(self) -> SlopesDecoder:
        if self._decoder is None:
            raise RuntimeError("the model of this device is not cut")
        return self._decoder


def _part(times: tuple[float, ...], segment: Segment) -> tuple[float, ...]:
    """Return the items of `times` for the layers of `segment`."""
    first, last = segment
    return times[first - 1 : last]
