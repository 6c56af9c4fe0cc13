"""The work of a device that holds the layers before a cut, in virtual time."""

from typing import Any, Protocol

from ....core.cut_commands import LossGradient
from ....core.messages import ActivationGradient, Logits
from ....core.worker import Computed
from ....vectors import Vector
from ..cut_times import PassShares
from ..learning.gradient_handle import CutHandle, CutSource
from .passes import Finish, PiecewisePass


class SlopesDecoder(Protocol):
    """Turns answers of the server into arrays; `DeviceCoder` does so for real answers."""

    def slopes(self, answer: ActivationGradient, rows: int, /) -> Vector:
        """Return the gradient by the activations of `rows` examples."""

    def logits(self, answer: Logits, /) -> Vector:
        """Return the logits, row by row."""


class CutPasses:
    """The passes of one incarnation of a device.

    The time of an iteration is one draw from the law of a step, of which the layers before the cut
    take their shares. The loss at the device, where labels stay local, takes no time.
    """

    __slots__ = ("_computed", "_decoder", "_handle", "_shares", "_step", "source")

    def __init__(self, source: CutSource, shares: PassShares, decoder: SlopesDecoder) -> None:
        """Give `shares` of a step's time to the two passes."""
        self.source, self._shares, self._decoder = source, shares, decoder
        self._handle: CutHandle | None = None  # of the iteration that goes on
        self._step = 0.0  # seconds of a whole core for this iteration
        self._computed = 0.0  # seconds of this iteration's forward pass

    def forward(self, handle: CutHandle, step: float, now: float, finish: Finish) -> PiecewisePass:
        """Begin an iteration of `step` seconds of a whole core with its forward pass."""
        self._handle, self._step = handle, step

        def over(ended: float, seconds: list[float]) -> Any:
            self._computed = ended - now
            return handle.activated()

        return PiecewisePass.begin(now, [self._shares.forward * step], finish, over)

    def loss(self, answer: Logits) -> LossGradient:
        """Return the loss of the mini-batch at the logits of `answer`."""
        return self._iteration.loss_at(self._decoder.logits(answer))

    def backward(self, answer: ActivationGradient, now: float, finish: Finish) -> PiecewisePass:
        """Begin the backward pass from the gradient in `answer`."""
        handle, computed = self._iteration, self._computed
        handle.begin(self._decoder.slopes(answer, handle.rows))

        def over(ended: float, seconds: list[float]) -> Computed[CutHandle]:
            return Computed(handle, answer.loss, computed + ended - now)

        return PiecewisePass.begin(now, [self._shares.backward * self._step], finish, over)

    @property
    def _iteration(self) -> CutHandle:
        if self._handle is None:
            raise RuntimeError("a forward pass begins an iteration")
        return self._handle
