"""Learning segment by segment: computes single layers of a network, and measures their time."""

import time
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout, Segment
from ...vectors import Vector
from .batches import Batches

Clock: TypeAlias = Callable[[], float]


class LayeredNetwork(Protocol):
    """A network that computes single layers, counted from 1 at the input."""

    @property
    def layout(self) -> Layout:
        """Layout of the network."""

    @property
    def loss(self) -> float:
        """Mean loss of an answer over the batch, known after the last layer's forward pass."""

    def begin(self, *batch: NDArray[Any]) -> None:
        """Begin an iteration over the `batch` of `Batches`, and forget one that did not end."""

    def forward(self, layer: int, weights: Vector) -> None:
        """Compute the forward pass of `layer`, which has the parameters `weights`."""

    def backward(self, layer: int) -> Vector:
        """Return the gradient of `layer`, flat float32."""


class SegmentLearner:
    """A LayeredLearner: `network` on mini-batches from `batches`.

    A `Learner` may draw from the same `batches` in other iterations. `clock` returns seconds.
    """

    def __init__(
        self, network: LayeredNetwork, batches: Batches, clock: Clock = time.perf_counter
    ) -> None:
        self._network, self._batches, self._clock = network, batches, clock

    def begin(self) -> None:
        self._network.begin(*next(self._batches))

    def forward(self, segment: Segment, weights: Vector) -> list[float]:
        part, (first, _) = self._network.layout.part(segment), segment
        if weights.shape != (part.size,):
            raise ValueError(
                f"weights have shape {weights.shape}, {segment} {part.size} parameters"
            )
        laps = _Laps(self._clock)
        for layer, place in enumerate(part.layers, first):
            self._network.forward(layer, weights[place])
            laps.lap()
        return laps.seconds

    def backward(self, segment: Segment) -> tuple[Vector, list[float]]:
        part, (first, last) = self._network.layout.part(segment), segment
        laps, gradient = _Laps(self._clock), np.empty(part.size, np.float32)
        for layer in range(last, first - 1, -1):
            gradient[part.layers[layer - first]] = self._network.backward(layer)
            laps.lap()
        return gradient, laps.seconds[::-1]

    @property
    def loss(self) -> float:
        return self._network.loss


class _Laps:
    """Seconds between one `lap` and the next."""

    def __init__(self, clock: Clock) -> None:
        self.seconds: list[float] = []
        self._clock, self._at = clock, clock()

    def lap(self) -> None:
        """Note the seconds since the last lap, or since the start."""
        before, self._at = self._at, self._clock()
        self.seconds.append(self._at - before)
