"""Passes of a container's worker through the device's part of a cut model."""

from ..core.activation_values import DeviceCoder
from ..core.cut_commands import LossGradient
from ..core.messages import ActivationGradient, Logits
from ..core.worker import Computed
from ..learners.base import Activated, DevicePart
from ..vectors import Vector
from ..world.emulated_clock import UNDILATED, EmulatedClock
from ..world.pace import WorkPace


class CutWork:
    """Carries out the passes of an iteration, and sums up their time without the waits between."""

    def __init__(
        self, learner: DevicePart, coder: DeviceCoder, clock: EmulatedClock = UNDILATED
    ) -> None:
        self._learner, self._coder, self._clock = learner, coder, clock
        self._pace = WorkPace(clock)
        self._rows = 0  # examples of this iteration's mini-batch
        self._computed = 0.0  # seconds of this iteration's passes so far

    def activate(self, theta: Vector) -> Activated:
        """Compute the activations of the next mini-batch at the parameters `theta`."""
        self._pace.begin()
        began = self._clock.now()
        activated = self._learner.forward(theta)
        self._pace.rest()
        self._rows, self._computed = activated.rows, self._clock.now() - began
        return activated

    def loss_at(self, answer: Logits) -> LossGradient:
        """Compute the loss of the mini-batch at the logits of `answer`, and its gradient."""
        self._pace.begin()
        began = self._clock.now()
        result = LossGradient(*self._learner.loss(self._coder.logits(answer)))
        self._pace.rest()
        self._computed += self._clock.now() - began
        return result

    def back(self, answer: ActivationGradient) -> Computed[Vector]:
        """Compute the gradient of the device's part from the gradient by its activations."""
        self._pace.begin()
        began = self._clock.now()
        gradient = self._learner.backward(self._coder.slopes(answer, self._rows))
        self._pace.rest()
        self._computed += self._clock.now() - began
        return Computed(gradient, answer.loss, self._computed)
