"""Runs without training: no gradient is computed and no model changes, but messages have sizes.

They serve fleets too large to train, to see which devices wait and how many bytes pass.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....codecs.base import (
    Accounting,
    ByteCount,
    Codec,
    DecodedFrames,
    Encoder,
    EncoderContext,
    accounting,
    decode_once,
)
from ....codecs.expected_update import expected_update
from ....core.cut.activation_values import ActivationCoding, CodedActivations
from ....core.plan import Cut
from ....core.server.staging import Parts, merged
from ....core.wire.messages import ActivationGradient, Logits
from ....core.worker.kept_state import Keeper
from ....core.worker.worker import LossGradient
from ....layout import Layout, Segment
from ....learning.learners.base import Activated, Evaluation, Slopes
from ....learning.models import Model
from ....optimizers.base import OptimizerState
from ....plugins.stateful import Stateful
from ....vectors import Buffer, Frames, Gradient, Vector
from .gradient_handle import LieNow, VirtualLearner

_NOTHING: Vector = np.empty(0, np.float32)
_NO_LABELS: NDArray[np.int32] = np.empty(0, np.int32)
_UNKNOWN = float("nan")
"""Loss of a run in which nobody learns."""


class ExpectedFrames(DecodedFrames):
    """Frames of the expected size, with the gradient and the byte count that belong to them."""

    bytes: ByteCount


class ExpectedSizeCodec:
    """A codec and encoder with the same update for every gradient, of the expected size.

    The update is a wrapped codec's encoding of one gradient of normal numbers. If the encoder has a
    memory, it is the encoding of the last of several gradients, when the memory is full.
    """

    def __init__(self, codec: Codec, layout: Layout) -> None:
        """Encode a made-up gradient of `layout` with `codec`."""
        self._codec, self._layout = codec, layout
        self._expected: dict[Segment, ExpectedFrames] = {}  # by segment, from the first use on
        self.paper: Accounting | None = accounting(codec)

    def start(self, place: EncoderContext) -> Encoder:
        return self

    def encode(self, gradient: Vector) -> Frames:
        return self.frames

    @cached_property
    def frames(self) -> Frames:
        """Frames of an update of the whole model."""
        return self._made(self._layout)

    def segment(self, segment: Segment) -> Frames:
        """Return the frames of an update of the layers of `segment`."""
        if segment not in self._expected:
            self._expected[segment] = self._made(self._layout.part(segment))
        return self._expected[segment]

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return decode_once(frames, self._codec, layout)

    def count(self, frames: Frames) -> ByteCount:
        return frames.bytes if isinstance(frames, ExpectedFrames) else self._codec.count(frames)

    def joined(self, parts: Parts) -> Gradient:
        """Join the gradients of the segments of a model, as `merged` does with real gradients."""
        if any(gradient.indices is not None for _, gradient in parts):
            return merged(parts)
        return _zeros(sum(gradient.values.size for _, gradient in parts))

    def _made(self, layout: Layout) -> ExpectedFrames:
        """Return frames as long as those of a made-up gradient of `layout`; their content is lost.

        So the frames of a large network take no memory.
        """
        encoded = expected_update(self._codec, layout)
        frames = ExpectedFrames(_repeated(np.uint8(0), len(frame)).data for frame in encoded)
        gradient = self._codec.decode(encoded, layout)
        frames.gradient = _zeros(layout.size) if gradient.indices is None else gradient
        frames.bytes = self._codec.count(encoded)
        return frames


def _zeros(size: int) -> Gradient:
    """Return a gradient of `size` parameters, all zero."""
    return Gradient(_repeated(np.float32(0), size))


def _repeated(value: Any, size: int) -> NDArray[Any]:
    """Return an array of `size` items `value`, in the memory of a single item."""
    return np.broadcast_to(value, (size,))


class ConstantState(Stateful):
    """A State in which updates are counted and no parameter changes."""

    STATE = ("version",)

    oldest = 0
    everywhere = False

    def __init__(self, size: int) -> None:
        """Hold `size` parameters, all zero, in the memory of a single number."""
        self.theta: Vector = _repeated(np.float32(0), size)
        self.version = 0

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]:
        """Count the `arrivals`; return NaN for each divisor, as nothing is modulated."""
        self.version += len(arrivals)
        return [float("nan")] * len(arrivals)

    def snapshot(self) -> Vector:
        return self.theta

    def optimizer_state(self) -> OptimizerState:
        return OptimizerState("none", {})

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        pass


class TrafficOnly:
    """A FleetLearning without gradients: every device sends the same frames."""

    scores = False

    def __init__(
        self,
        size: int,
        codec: ExpectedSizeCodec,
        steps: int = 1,
        rows: Callable[[str], int] = lambda device: 1,
    ) -> None:
        """Push frames of `codec` after `steps` mini-batches; the model has `size` parameters.

        `rows` returns the number of examples in a mini-batch of a device.
        """
        self._size, self._codec, self._steps, self._rows = size, codec, steps, rows
        self._same: dict[int, SameIteration] = {}  # by number of examples in a mini-batch

    def learner(
        self,
        device: str,
        incarnation: int,
        lie: LieNow | None = None,
        keeper: Keeper | None = None,
    ) -> VirtualLearner:
        rows = self._rows(device)
        if rows not in self._same:  # one for all devices: a fleet may have a million
            self._same[rows] = SameIteration(self._size, self._steps, rows, self._codec)
        return self._same[rows]

    def evaluate(self, theta: Vector) -> Evaluation:
        raise RuntimeError("there is nothing to evaluate")

    def close(self) -> None:
        pass


class SameIteration:
    """A VirtualLearner, and its GradientHandle or CutHandle, without any computation."""

    def __init__(self, size: int, steps: int, rows: int, codec: ExpectedSizeCodec) -> None:
        """A device holds `size` parameters; a mini-batch has `rows` examples."""
        self.size, self.steps, self.rows, self._codec = size, steps, rows, codec

    def prefetch(self, theta: Vector) -> "SameIteration":
        return self

    def activated(self) -> Activated:
        return Activated(_NOTHING, self.rows, _NO_LABELS)

    def loss_at(self, logits: Vector) -> LossGradient:
        return LossGradient(_UNKNOWN, logits)

    def begin(self, segment: Segment | None = None) -> None:
        pass

    def begin_from(self, slopes: Vector) -> None:
        pass

    def loss(self) -> float:
        return _UNKNOWN

    def frames(self, segment: Segment | None = None) -> Frames:
        return self._codec.frames if segment is None else self._codec.segment(segment)


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
