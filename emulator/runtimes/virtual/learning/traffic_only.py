"""Traffic only: no gradient is found and no model changes, but every message has its size.

For fleets too large to train: what matters there is who waits for whom and how many bytes pass.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from .... import chance
from ....codecs.accounting import Accounting, accounting
from ....codecs.base import ByteCount, Codec, Encoder, EncoderContext
from ....codecs.feedback import StatelessEncoder
from ....layout import Layout
from ....vectors import Frames, Gradient, Vector
from .prefetching import Foreseen, Pupil

_STEADY = 10
"""Updates after which a codec's memory holds what it will hold."""


class Expected:
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
            self._frames = tuple(map(bytes, encoder.encode(gradient)))
        self._gradient = codec.decode(self._frames, layout)
        self._count = codec.count(self._frames)
        self.paper: Accounting | None = accounting(codec)

    def start(self, place: EncoderContext) -> Encoder:
        return self

    def encode(self, gradient: Vector) -> Frames:
        return self._frames

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return self._gradient

    def count(self, frames: Frames) -> ByteCount:
        return self._count


class Unchanged:
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


class Nobody:
    """A Learning in which nobody learns; one stand-in serves all."""

    scores = False
    examples: Mapping[str, int] = MappingProxyType({})

    def __init__(self, size: int, steps: int = 1) -> None:
        """Each spends the time of so many mini-batches between a model and its update."""
        self._foreseen = _Nothing(size, steps)

    def pupil(self, device: str, incarnation: int) -> Pupil:
        return self

    def foresee(self, theta: Vector) -> Foreseen:
        return self._foreseen

    def evaluate(self, theta: Vector) -> tuple[float, float]:
        raise RuntimeError("there is nothing to evaluate")

    def close(self) -> None:
        pass


class _Nothing:
    def __init__(self, size: int, steps: int) -> None:
        self.size, self.steps = size, steps

    def begin(self) -> None:
        pass

    def loss(self) -> float:
        return float("nan")

    def frames(self) -> Frames:
        raise RuntimeError("its encoder does not look at it")
