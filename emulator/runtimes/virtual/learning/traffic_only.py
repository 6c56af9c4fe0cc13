"""Traffic only: no gradient is found and no model changes, but every message has its size.

For fleets too large to train: what matters there is who waits for whom and how many bytes pass.
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
"""Updates after which a codec's memory holds what it will hold."""


class ExpectedSizeCodec:
    """A codec, and an encoder, whose every update is as large as is to be expected.

    That is the codec's own encoding of one gradient of normal numbers, the same for all; by a codec
    with a memory, once it has filled, and a warm-up is over.
    """

    def __init__(self, codec: Codec, layout: Layout) -> None:
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
    """A State that counts updates and stays as it is."""

    oldest = 0
    everywhere = False

    def __init__(self, theta: Vector) -> None:
        self.theta, self.version = theta, 0

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]:
        """Nothing is modulated, so no divisor is known."""
        self.version += len(arrivals)
        return [float("nan")] * len(arrivals)

    def snapshot(self) -> Vector:
        return self.theta

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        pass


class TrafficOnly:
    """A FleetLearning that computes no gradient: every device sends the same frames."""

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
    """A GradientHandle on which nothing is computed."""

    def __init__(self, size: int, steps: int, frames: Frames) -> None:
        self.size, self.steps, self._frames = size, steps, frames

    def begin(self) -> None:
        pass

    def loss(self) -> float:
        return float("nan")

    def frames(self) -> Frames:
        return self._frames
