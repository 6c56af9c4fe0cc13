"""Traffic only: no gradient is found and no model changes, but every message has its size.

For fleets too large to train: what matters there is who waits for whom and how many bytes pass.
"""

from collections.abc import Sequence

import numpy as np

from ...codecs.base import Codec, Count, Frames, Gradient, Vector
from ...layout import Layout
from ...streams import stream
from .learning import Foreseen, Pupil


class Expected:
    """A codec, and an encoder, whose every update is as large as is to be expected.

    That is the codec's own encoding of one gradient of normal numbers, the same for all.
    """

    def __init__(self, codec: Codec, layout: Layout) -> None:
        gradient = stream(f"expected/{layout.size}").standard_normal(layout.size, np.float32)
        self._frames = tuple(map(bytes, codec.encode(gradient, layout)))
        self._gradient = codec.decode(self._frames, layout)
        self._count = codec.count(self._frames)

    def encode(self, gradient: Vector, layout: Layout | None = None) -> Frames:
        return self._frames

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return self._gradient

    def count(self, frames: Frames) -> Count:
        return self._count


class Unchanged:
    """A State that counts updates and stays as it is."""

    oldest = 0

    def __init__(self, theta: Vector) -> None:
        self._theta, self.version = theta, 0

    def apply(self, arrivals: Sequence[tuple[Gradient, int]]) -> list[float]:
        """Nothing is modulated, so no divisor is known."""
        self.version += len(arrivals)
        return [float("nan")] * len(arrivals)

    def snapshot(self) -> Vector:
        return self._theta

    def forget(self, version: int) -> None:
        pass


class Nobody:
    """A Learning in which nobody learns; one stand-in serves all."""

    scores = False

    def __init__(self, size: int) -> None:
        self._foreseen = _Nothing(size)

    def pupil(self, device: str, incarnation: int) -> Pupil:
        return self

    def foresee(self, theta: Vector) -> Foreseen:
        return self._foreseen

    def evaluate(self, theta: Vector) -> tuple[float, float]:
        raise RuntimeError("there is nothing to evaluate")

    def close(self) -> None:
        pass


class _Nothing:
    def __init__(self, size: int) -> None:
        self.size = size

    def begin(self) -> None:
        pass

    def loss(self) -> float:
        return float("nan")

    def frames(self) -> Frames:
        raise RuntimeError("its encoder does not look at it")
