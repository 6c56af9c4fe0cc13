"""Runs without training: no gradient is computed and no model changes, but messages have sizes.

They serve fleets too large to train, to see which devices wait and how many bytes pass.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from .... import chance
from ....codecs.accounting import Accounting, accounting
from ....codecs.base import ByteCount, Codec, Encoder, EncoderContext
from ....codecs.feedback import StatelessEncoder
from ....layout import Layout
from ....vectors import Frames, Gradient, Vector
from .gradient_handle import GradientHandle, VirtualLearner

_STEADY = 10
"""Updates after which the memory of an encoder is full, and its warm-up over."""


class ExpectedSizeCodec:
    """A codec and encoder with the same update for every gradient, of the expected size.

    The update is a wrapped codec's encoding of one gradient of normal numbers. If the encoder has a
    memory, it is the encoding of the last of several gradients, when the memory is full.
    """

    def __init__(self, codec: Codec, layout: Layout) -> None:
        """Encode a made-up gradient of `layout` with `codec`."""
        draws = chance.stream(chance.expected_gradient(layout.size))
        rng = chance.stream(chance.expected_codec(layout.size))
        encoder = codec.start(EncoderContext(layout, rng))
        for _ in range(1 if isinstance(encoder, StatelessEncoder) else _STEADY):
            gradient = draws.standard_normal(layout.size, np.float32)
            self.frames: Frames = tuple(map(bytes, encoder.encode(gradient)))
        self._gradient = codec.decode(self.frames, layout)
        self._count = codec.count(self.frames)
        self.paper: Accounting | None = accounting(codec)

    def start(self, place: EncoderContext) -> Encoder:
        return self

    def encode(self, gradient: Vector) -> Frames:
        return self.frames

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return self._gradient

    def count(self, frames: Frames) -> ByteCount:
        return self._count


class ConstantState:
    """A State in which updates are counted and no parameter changes."""

    oldest = 0
    everywhere = False

    def __init__(self, theta: Vector) -> None:
        self.theta, self.version = theta, 0

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]:
        """Count the `arrivals`; return NaN for each divisor, as nothing is modulated."""
        self.version += len(arrivals)
        return [float("nan")] * len(arrivals)

    def snapshot(self) -> Vector:
        return self.theta

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        pass


class TrafficOnly:
    """A FleetLearning without gradients: every device sends the same frames."""

    scores = False

    def __init__(self, size: int, frames: Frames, steps: int = 1) -> None:
        """Push `frames` after `steps` mini-batches; the model has `size` parameters."""
        self._handle = _SameGradient(size, steps, frames)

    def learner(self, device: str, incarnation: int) -> VirtualLearner:
        return self

    def prefetch(self, theta: Vector) -> GradientHandle:
        return self._handle

    def evaluate(self, theta: Vector) -> tuple[float, float]:
        raise RuntimeError("there is nothing to evaluate")

    def close(self) -> None:
        pass


class _SameGradient:
    """A GradientHandle without any computation."""

    def __init__(self, size: int, steps: int, frames: Frames) -> None:
        self.size, self.steps, self._frames = size, steps, frames

    def begin(self) -> None:
        pass

    def loss(self) -> float:
        return float("nan")

    def frames(self) -> Frames:
        return self._frames
