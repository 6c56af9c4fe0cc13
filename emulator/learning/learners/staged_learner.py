"""Learning on a device in passes over segments of layers, on mini-batches from its data."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout, Segment
from ...vectors import Vector
from .base import Activated
from .batches import Batches

Clock: TypeAlias = Callable[[], float]


class StagedNetwork(Protocol):
    """The layers of a model that a device holds, in segments that are computed one by one.

    Segments are counted from 1 at the input. A whole model may have a segment for each layer. The
    layers before a cut are one segment.
    """

    @property
    def layout(self) -> Layout:
        """Layout of the layers."""

    @property
    def loss(self) -> float:
        """Mean loss of an answer over the batch, known after the model's last forward pass."""

    def begin(self, *batch: NDArray[Any]) -> None:
        """Begin an iteration over the `batch` of `Batches`, and forget one that did not end."""

    def forward(self, number: int, weights: Vector) -> Vector | None:
        """Compute the forward pass of segment `number`, which has the parameters `weights`.

        Return the activations if the segment ends at the cut of a model, flat. Raises ValueError
        unless it is the next segment, and `weights` are as many as its parameters.
        """

    def backward(self, number: int, slopes: Vector | None = None) -> Vector:
        """Return the gradient of segment `number`, flat float32.

        At the cut of a model, `slopes` is the gradient by the activations. Raises ValueError unless
        it is the next segment, and `slopes` are as many as the activations.
        """

    def loss_at(self, logits: Vector) -> tuple[float, Vector]:
        """Return the mean loss of the batch at the `logits`, and its gradient by them.

        Raises ValueError if `logits` have the wrong size.
        """


def by_layer(layout: Layout, weights: Vector) -> Iterator[NDArray[np.float32]]:
    """Yield the parameters of each layer of `layout`. Raises ValueError for a wrong size."""
    # TensorFlow does not check placeholders' shapes: it would use the head of a longer vector
    if weights.shape != (layout.size,):
        raise ValueError(f"weights have shape {weights.shape}, the layers {layout.size} parameters")
    return (weights[place] for place in layout.layers)


class StagedLearner:
    """A LayeredLearner of a network with a segment for each layer; a DevicePart of a cut network.

    A `Learner` may draw from the same `batches` in other iterations. `clock` returns seconds.
    """

    def __init__(
        self, network: StagedNetwork, batches: Batches, clock: Clock = time.perf_counter
    ) -> None:
        self._network, self._batches, self._clock = network, batches, clock
        self._labels: NDArray[Any] | None = None  # None: no iteration has begun

    def begin(self) -> None:
        x, self._labels, *noise = next(self._batches)
        self._network.begin(x, self._labels, *noise)

    # -- segments of layers ----------------------------------------------------------------------

    def forward(self, segment: Segment, weights: Vector) -> list[float]:
        part, laps = by_layer(self._network.layout.part(segment), weights), _Laps(self._clock)
        for layer, own in enumerate(part, segment[0]):
            self._network.forward(layer, own)
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

    # -- the layers before a cut -----------------------------------------------------------------

    def activate(self, weights: Vector) -> Activated:
        self.begin()
        activations = self._network.forward(1, weights)
        assert activations is not None and self._labels is not None
        return Activated(activations, len(self._labels), np.ravel(self._labels))

    def backward_from(self, slopes: Vector) -> Vector:
        return self._network.backward(1, slopes)

    def loss_at(self, logits: Vector) -> tuple[float, Vector]:
        if self._labels is None:
            raise ValueError("loss without a forward pass before it")
        return self._network.loss_at(logits)


class _Laps:
    """Seconds between one `lap` and the next."""

    def __init__(self, clock: Clock) -> None:
        self.seconds: list[float] = []
        self._clock, self._at = clock, clock()

    def lap(self) -> None:
        """Note the seconds since the last lap, or since the start."""
        before, self._at = self._at, self._clock()
        self.seconds.append(self._at - before)
