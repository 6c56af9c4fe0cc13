"""Passes of a container's worker that computes layer by layer, observed by the scheduler.

Times are readings of an emulated clock, which all containers on a host share with the server.
"""

from ..core.messages import ModelSegment, Pull, Request, UpdateSegment
from ..core.scheduler import Scheduler
from ..core.worker import Computed
from ..layout import Segment
from ..learners.base import LayeredLearner
from ..vectors import Vector
from ..world.emulated_clock import UNDILATED, EmulatedClock
from ..world.pace import WorkPace


class SegmentWork:
    """Carries out the passes of a worker, and lets the scheduler observe passes and transfers."""

    def __init__(
        self, learner: LayeredLearner, scheduler: Scheduler, clock: EmulatedClock = UNDILATED
    ) -> None:
        self._learner, self._scheduler, self._clock = learner, scheduler, clock
        self._pace = WorkPace(clock)
        self._computed = 0.0  # seconds of the passes of this iteration so far

    def started(self, zero: float) -> None:
        """Note that the run's time counts from `zero`."""
        self._scheduler.started(zero)

    def sent(self, message: Request, size: int, now: float) -> None:
        """Note that a `message` of `size` bytes on the wire was given to the link at time `now`."""
        match message:
            case Pull():
                self._scheduler.begin(now)
            case UpdateSegment():
                self._scheduler.handed(message.segment, size, now)

    def arrived(self, piece: ModelSegment, size: int, at: float, late: bool) -> None:
        """Note that a `piece` of the answer to the last pull arrived, of `size` bytes on the wire.

        `at`: when it arrived, or could be read at the latest if it was found `late`.
        """
        if piece.times is not None:
            self._scheduler.told(piece.times)
        self._scheduler.arrived(piece.segment, size, at, late)

    def forward(self, piece: ModelSegment) -> None:
        """Compute the forward pass of the layers of `piece`; layer 1 begins a mini-batch."""
        if piece.segment[0] == 1:
            self._learner.begin()
            self._computed = 0.0
        self._pace.begin()
        began = self._clock.now()
        seconds = self._learner.forward(piece.segment, piece.theta)
        self._pace.rest()
        ended = self._clock.now()
        seconds = self._paced(seconds, ended - began)
        self._computed += ended - began
        self._scheduler.forward(piece.segment, seconds, began, ended)

    def backward(self, segment: Segment) -> Computed[Vector]:
        """Compute the gradient of the layers of `segment`."""
        self._pace.begin()
        began = self._clock.now()
        gradient, seconds = self._learner.backward(segment)
        self._pace.rest()
        ended = self._clock.now()
        seconds = self._paced(seconds, ended - began)
        self._computed += ended - began
        self._scheduler.backward(segment, seconds, began, ended)
        return Computed(gradient, self._learner.loss, self._computed)

    def _paced(self, seconds: list[float], took: float) -> list[float]:
        """Return the `seconds` of the layers of a pass with their parts of the rest after it.

        The pass and the rest took `took` seconds.
        """
        if self._clock.dilation == 1 or not sum(seconds):
            return seconds
        return [part * took / sum(seconds) for part in seconds]

    def close(self) -> None:
        """Let the scheduler report its last iterations: the run is over."""
        self._scheduler.close(self._clock.now())
