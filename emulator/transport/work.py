"""The computations of a container's node, whichever its protocol asks for, timed at its pace.

Times are readings of an emulated clock, which all containers on a host share with the server.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeAlias, TypeVar

from ..core.cut.activation_values import DeviceCoder
from ..core.scheduling.scheduler import Scheduler
from ..core.wire.messages import (
    ActivationGradient,
    Logits,
    ModelSegment,
    Pull,
    Request,
    UpdateSegment,
)
from ..core.worker.worker import (
    Activate,
    ActivationsBack,
    Backward,
    Compute,
    Computed,
    Evaluate,
    Forward,
    LossAt,
    LossGradient,
)
from ..layout import Segment
from ..learning.learners.base import Activated, DevicePart, Evaluator, LayeredLearner, Learner
from ..vectors import Vector
from ..world.emulated_clock import UNDILATED, EmulatedClock, TimedWork, WorkPace

Computing: TypeAlias = Callable[[], AbstractContextManager[None]]
T = TypeVar("T")


class PassFaults(Protocol):
    """The faults that a worker plays by itself on its iterations."""

    def before_gradient(self) -> None:
        """Let faults act before an iteration; they may wait, and need not return."""

    def before_pass(self) -> None:
        """Let faults take note that a pass begins."""

    def after_pass(self, seconds: float) -> bool:
        """Let faults act after a pass that took `seconds`; return whether they waited."""


class Work:
    """Carries out the commands that compute; a scheduler observes passes and transfers.

    An iteration of a worker is one pass over a whole model, passes over segments of its layers, or
    passes over the layers before a cut.
    """

    def __init__(
        self,
        learner: Learner | LayeredLearner | DevicePart | Evaluator,
        clock: EmulatedClock = UNDILATED,
        *,
        scheduler: Scheduler | None = None,
        coder: DeviceCoder | None = None,
        faults: PassFaults | None = None,
    ) -> None:
        """`learner` does what the node's coroutine asks for.

        `scheduler` cuts the model of a LayeredLearner into segments, `coder` decodes the answers to
        a DevicePart. None as `faults`: none is played by the worker.
        """
        self._learner: Any = learner
        self._scheduler, self._coder = scheduler, coder
        self._faults = faults
        self.pace, self._clock = WorkPace(clock), clock
        self._rows = 0  # examples of this iteration's mini-batch
        self._computed = 0.0  # seconds of this iteration's passes so far
        self._waited = False  # whether the node waited after the last pass

    def do(self, command: Any, computing: Computing = nullcontext) -> Any:
        """Return the result of `command`. Raises TypeError if it is no command to compute.

        A context of `computing` holds while the node computes and does not use its connection.
        """
        if isinstance(command, Evaluate):
            return self._learner.evaluate(command.theta)
        with computing():
            if _begins(command):
                self._computed = 0.0
                if self._faults is not None:
                    self._faults.before_gradient()
            match command:
                case Compute(reply):
                    return self._gradient(reply.theta)
                case Forward(reply):
                    return self._forward(reply)
                case Backward(segment):
                    return self._backward(segment)
                case Activate(reply):
                    return self._activate(reply.theta)
                case LossAt(answer):
                    return self._loss_at(answer)
                case ActivationsBack(answer):
                    return self._back(answer)
        raise TypeError(f"this node cannot carry out {command}")

    def _gradient(self, theta: Vector) -> Computed[Vector]:
        gradient, loss = self._pass(lambda: self._learner.gradient(theta)).result
        return Computed(gradient, loss, self._computed)

    def _forward(self, piece: ModelSegment) -> None:
        """Compute the forward pass of the layers of `piece`; layer 1 begins a mini-batch."""
        if piece.segment[0] == 1:
            self._learner.begin()
        made = self._pass(lambda: self._learner.forward(piece.segment, piece.theta))
        seconds = self._paced(made.result, made.seconds)
        if self._scheduler is not None:
            self._scheduler.forward(piece.segment, seconds, made.began, made.ended)

    def _backward(self, segment: Segment) -> Computed[Vector]:
        """Compute the gradient of the layers of `segment`."""
        made = self._pass(lambda: self._learner.backward(segment))
        gradient, seconds = made.result
        seconds = self._paced(seconds, made.seconds)
        if self._scheduler is not None:
            self._scheduler.backward(segment, seconds, made.began, made.ended)
        return Computed(gradient, self._learner.loss, self._computed)

    def _activate(self, theta: Vector) -> Activated:
        """Compute the activations of the next mini-batch at the parameters `theta`."""
        activated: Activated = self._pass(lambda: self._learner.activate(theta)).result
        self._rows = activated.rows
        return activated

    def _loss_at(self, answer: Logits) -> LossGradient:
        """Compute the loss of the mini-batch at the logits of `answer`, and its gradient."""
        coder = self._at_the_cut
        made = self._pass(lambda: self._learner.loss_at(coder.logits(answer)))
        return LossGradient(*made.result)

    def _back(self, answer: ActivationGradient) -> Computed[Vector]:
        """Compute the gradient of the device's part from the gradient by its activations."""
        coder, rows = self._at_the_cut, self._rows
        made = self._pass(lambda: self._learner.backward_from(coder.slopes(answer, rows)))
        return Computed(made.result, answer.loss, self._computed)

    def _pass(self, compute: Callable[[], T]) -> TimedWork[T]:
        """Call `compute`, at the pace of the node's world, as a pass of the iteration."""
        if self._faults is not None:
            self._faults.before_pass()
        made = self.pace.timed(compute)
        self._waited = self.pace.rests
        if self._faults is not None and self._faults.after_pass(made.seconds):
            self._waited, made = True, made._replace(ended=self._clock.now())
        self._computed += made.seconds
        return made

    def _paced(self, seconds: list[float], took: float) -> list[float]:
        """Return the `seconds` of the layers of a pass with their parts of the waits after it.

        The pass took `took` seconds with the rest at the node's pace, and the waits of faults.
        """
        if not self._waited or not sum(seconds):
            return seconds
        return [part * took / sum(seconds) for part in seconds]

    @property
    def _at_the_cut(self) -> DeviceCoder:
        if self._coder is None:
            raise TypeError("the model of this node is not cut")
        return self._coder

    # -- what a scheduler observes beside passes -----------------------------------------------

    def started(self, zero: float) -> None:
        """Note that the run's time counts from `zero`."""
        if self._scheduler is not None:
            self._scheduler.started(zero)

    def sent(self, message: Request, size: int, now: float) -> None:
        """Note that a `message` of `size` bytes on the wire was given to the link at time `now`."""
        if self._scheduler is None:
            return
        match message:
            case Pull():
                self._scheduler.begin(now)
            case UpdateSegment():
                self._scheduler.handed(message.segment, size, now)

    def arrived(self, piece: ModelSegment, size: int, at: float, late: bool) -> None:
        """Note that a `piece` of the answer to the last pull arrived, of `size` bytes on the wire.

        `at`: when it arrived, or could be read at the latest if it was found `late`.
        """
        if self._scheduler is None:
            return
        if piece.times is not None:
            self._scheduler.told(piece.times)
        self._scheduler.arrived(piece.segment, size, at, late)

    def close(self) -> None:
        """Let the scheduler report its last iterations: the run is over."""
        if self._scheduler is not None:
            self._scheduler.close(self._clock.now())


def _begins(command: Any) -> bool:
    """Return whether `command` begins the iteration of a worker."""
    return isinstance(command, Compute | Activate) or (
        isinstance(command, Forward) and command.reply.segment[0] == 1
    )
