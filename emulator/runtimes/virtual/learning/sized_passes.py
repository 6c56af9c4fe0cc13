"""Passes of cut models without computing: activations and their gradients have sizes only."""

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....core.activation_values import ActivationCoding, CodedActivations
from ....core.cut_commands import LossGradient
from ....core.messages import ActivationGradient, Logits
from ....core.plan import Cut
from ....learners.base import Activated, Slopes
from ....models import Model
from ....vectors import Buffer, Frames, Vector
from .gradient_handle import CutHandle

_NOTHING: Vector = np.empty(0, np.float32)
_NO_LABELS: NDArray[np.int32] = np.empty(0, np.int32)
_UNKNOWN = float("nan")
"""Loss of a run in which nobody learns."""


class SamePasses:
    """A CutSource and a CutHandle: every iteration sends the same frames."""

    def __init__(self, size: int, rows: int, frames: Frames) -> None:
        """The device's part has `size` parameters, a mini-batch `rows` examples."""
        self.size, self.rows, self._frames = size, rows, frames

    def prefetch(self, theta: Vector) -> CutHandle:
        return self

    def activated(self) -> Activated:
        return Activated(_NOTHING, self.rows, _NO_LABELS)

    def loss_at(self, logits: Vector) -> LossGradient:
        return LossGradient(_UNKNOWN, logits)

    def begin(self, slopes: Vector) -> None:
        pass

    def frames(self) -> Frames:
        return self._frames


class SizedCoder:
    """A device's coder for frames of zeros, as long as the frames of a device that learns."""

    def __init__(self, cut: Cut, model: Model) -> None:
        self._width = model.crossing(cut.layer) * ActivationCoding(cut.values).item
        self._answers = math.prod(model.task.answers) if cut.labels == "sent" else None
        self._zeros = cache(bytes)  # one frame of each size for all devices

    def activations(self, activated: Activated) -> CodedActivations:
        rows = activated.rows
        labels = None if self._answers is None else self._zeros(4 * rows * self._answers)
        return CodedActivations(rows, self._zeros(rows * self._width), labels)

    def logit_gradient(self, gradient: Vector) -> Buffer:
        return self._zeros(4 * gradient.size)

    def slopes(self, answer: ActivationGradient, rows: int) -> Vector:
        return _NOTHING

    def logits(self, answer: Logits) -> Vector:
        return np.frombuffer(answer.logits, np.float32)


class SizedServerPart:
    """A ServerPart that answers with zeros."""

    def __init__(self, cut: Cut, model: Model) -> None:
        layers = len(model.layout.layers)
        self._size = model.layout.part((cut.layer + 1, layers)).size
        self._outputs = math.prod(model.task.answers) * model.task.classes
        self._zeros = cache(lambda size: np.zeros(size, np.float32))

    def slopes(self, weights: Vector, activations: Vector, rows: int, labels: Any) -> Slopes:
        return Slopes(_UNKNOWN, self._zeros(activations.size), self._zeros(self._size))

    def logits(self, weights: Vector, activations: Vector, rows: int) -> Vector:
        return self._zeros(rows * self._outputs)

    def slopes_of(
        self, weights: Vector, activations: Vector, rows: int, logit_gradient: Vector
    ) -> tuple[Vector, Vector]:
        return self._zeros(activations.size), self._zeros(self._size)
