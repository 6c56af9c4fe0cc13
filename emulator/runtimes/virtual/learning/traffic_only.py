"""Runs without training: no gradient is computed and no model changes, but messages have sizes.

They serve fleets too large to train, to see which devices wait and how many bytes pass.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....codecs.accounting import Accounting, accounting
from ....codecs.base import ByteCount, Codec, Encoder, EncoderContext
from ....codecs.decoded_frames import DecodedFrames, decode_once
from ....codecs.expected_update import expected_update
from ....core.kept_state import Keeper
from ....core.staging import Parts, merged
from ....layout import Layout, Segment
from ....learners.base import Evaluation
from ....optimizers.base import OptimizerState
from ....vectors import Frames, Gradient, Vector
from .gradient_handle import (
    CutSource,
    GradientHandle,
    SegmentedHandle,
    SegmentedLearner,
    VirtualLearner,
)
from .lies import LieNow
from .sized_passes import SamePasses


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


class ConstantState:
    """A State in which updates are counted and no parameter changes."""

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

    def learner(
        self,
        device: str,
        incarnation: int,
        lie: LieNow | None = None,
        keeper: Keeper | None = None,
    ) -> VirtualLearner:
        return self._whole

    def segmented(
        self, device: str, incarnation: int, lie: LieNow | None = None
    ) -> SegmentedLearner:
        return self._pieces

    def cut(self, device: str, incarnation: int, lie: LieNow | None = None) -> CutSource:
        return SamePasses(self._size, self._rows(device), self._codec.frames)

    def evaluate(self, theta: Vector) -> Evaluation:
        raise RuntimeError("there is nothing to evaluate")

    def close(self) -> None:
        pass

    @cached_property
    def _whole(self) -> "_SameGradient":
        return _SameGradient(self._size, self._steps, self._codec.frames)

    @cached_property
    def _pieces(self) -> "_SamePieces":
        return _SamePieces(self._codec)


class _SameGradient:
    """A VirtualLearner and a GradientHandle without any computation."""

    def __init__(self, size: int, steps: int, frames: Frames) -> None:
        self.size, self.steps, self._frames = size, steps, frames

    def prefetch(self, theta: Vector) -> GradientHandle:
        return self

    def begin(self) -> None:
        pass

    def loss(self) -> float:
        return float("nan")

    def frames(self) -> Frames:
        return self._frames


class _SamePieces:
    """A SegmentedLearner and a SegmentedHandle without any computation."""

    def __init__(self, codec: ExpectedSizeCodec) -> None:
        self._codec = codec

    def prefetch(self, theta: Vector) -> SegmentedHandle:
        return self

    def begin(self, segment: Segment) -> None:
        pass

    def loss(self) -> float:
        return float("nan")

    def frames(self, segment: Segment) -> Frames:
        return self._codec.segment(segment)
