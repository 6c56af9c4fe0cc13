"""A worker that computes layer by layer in virtual time: its passes and its scheduler.

A pass computes the layers of a segment one after the other. The time of an iteration is one draw
from the law of a step; each layer takes its share of the draw. A scheduler observes transfers and
passes at the same moments as in a container.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ....core.messages import Pull, Request, UpdateSegment
from ....core.scheduler import Scheduler
from ....core.worker import Computed
from ....layout import Segment
from ..learning.gradient_handle import PrefetchedSegment, SegmentedHandle, SegmentedLearner
from .passes import Finish, PiecewisePass


class LayerTimes(NamedTuple):
    """Parts of a step, the layer nearest to the input first; together they are 1."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]


class LayeredWork:
    """The work of one incarnation of a device that computes layer by layer."""

    __slots__ = ("_computed", "_handle", "_step", "_ticket", "_times", "learner", "scheduler")

    def __init__(self, learner: SegmentedLearner, scheduler: Scheduler, times: LayerTimes) -> None:
        self.learner, self.scheduler, self._times = learner, scheduler, times
        self._handle: SegmentedHandle | None = None  # of the iteration that goes on
        self._step = 0.0  # seconds of a whole core for this iteration's layers
        self._computed = 0.0  # seconds of this iteration's passes so far
        self._ticket: int | None = None  # of the last pull

    # -- messages --------------------------------------------------------------------------------

    def sent(self, message: Request, size: int, now: float) -> None:
        """Observe a `message` of `size` bytes that was given to the link."""
        if isinstance(message, UpdateSegment):
            self.scheduler.handed(message.segment, size, now)
        elif isinstance(message, Pull):
            self._ticket = message.ticket
            self.scheduler.begin(now)

    def arrived(self, piece: PrefetchedSegment, size: int, now: float) -> bool:
        """Observe a `piece` of `size` bytes of an answer; answers to earlier pulls do not count.

        Return whether the device holds the model of `piece` from now on: the piece is the last.
        """
        if piece.ticket != self._ticket:
            return False
        self.scheduler.arrived(piece.segment, size, now)
        if piece.times is not None:
            self.scheduler.told(piece.times)
        return piece.segment[1] == len(self._times.forward)

    # -- passes ----------------------------------------------------------------------------------

    def begin(self, handle: SegmentedHandle, step: float) -> None:
        """Begin an iteration of `step` seconds of a whole core; `handle` is on its gradient."""
        self._handle, self._step, self._computed = handle, step, 0.0

    def forward(self, segment: Segment, now: float, finish: Finish) -> PiecewisePass:
        """Begin the forward pass of the layers of `segment` at the time `now`."""

        def over(ended: float, seconds: list[float]) -> None:
            self._computed += ended - now
            self.scheduler.forward(segment, seconds, now, ended)

        return self._begin(_part(self._times.forward, segment), now, finish, over)

    def backward(self, segment: Segment, now: float, finish: Finish) -> PiecewisePass:
        """Begin the backward pass of the layers of `segment` at the time `now`."""
        handle = self._handle
        if handle is None:
            raise RuntimeError("a backward pass comes after a forward pass")
        handle.begin(segment)

        def over(ended: float, seconds: list[float]) -> Computed[SegmentedHandle]:
            self._computed += ended - now
            seconds.reverse()
            self.scheduler.backward(segment, seconds, now, ended)
            return Computed(handle, handle.loss(), self._computed)

        # the last layer is computed first
        return self._begin(_part(self._times.backward, segment)[::-1], now, finish, over)

    def _begin(
        self,
        parts: Iterable[float],
        now: float,
        finish: Finish,
        over: Callable[[float, list[float]], Any],
    ) -> PiecewisePass:
        """Begin a pass through layers one after the other; `parts` are their parts of the step."""
        return PiecewisePass.begin(now, (part * self._step for part in parts), finish, over)


def _part(times: tuple[float, ...], segment: Segment) -> tuple[float, ...]:
    """Return the items of `times` for the layers of `segment`."""
    first, last = segment
    return times[first - 1 : last]
