"""Learning on a device that holds the layers before a cut: a network, and an order of batches."""

from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...vectors import Vector
from .base import Activated
from .batches import Batches

Kept = TypeVar("Kept")


class DeviceNetwork(Protocol[Kept]):
    """The layers of a model before a cut, for any number of iterations at a time."""

    def forward(self, weights: Vector, x: NDArray[np.float32]) -> tuple[Vector, Kept]:
        """Return the activations of the examples `x`, flat, and a state for the backward pass.

        Raises ValueError if `weights` have the wrong size.
        """

    def backward(self, kept: Kept, slopes: Vector) -> Vector:
        """Return the gradient of the layers, flat; `slopes` is the gradient by the activations.

        Raises ValueError if `slopes` have the wrong size.
        """

    def gradient(self, weights: Vector, x: NDArray[np.float32], slopes: Vector) -> Vector:
        """Return what `backward` returns after `forward`, computing the forward pass once more.

        Nothing needs to be kept between the two passes of an iteration.
        """

    def loss(self, logits: Vector, y: NDArray[np.int32]) -> tuple[float, Vector]:
        """Return the mean loss of an answer with the labels `y`, and its gradient by `logits`.

        Raises ValueError if `logits` have the wrong size.
        """


class CutLearner(Generic[Kept]):
    """A DevicePart: `network` on mini-batches from `batches`."""

    def __init__(self, network: DeviceNetwork[Kept], batches: Batches) -> None:
        self._network, self._batches = network, batches
        self._labels: NDArray[np.int32] | None = None  # None: no iteration has begun
        self._kept: Kept | None = None  # None: no forward pass waits for its backward pass

    def forward(self, weights: Vector) -> Activated:
        self._kept = None  # freed before the next iteration takes memory
        x, self._labels = next(self._batches)  # a noisy model is not cut
        activations, self._kept = self._network.forward(weights, x)
        return Activated(activations, len(x), np.ravel(self._labels))

    def backward(self, slopes: Vector) -> Vector:
        if self._kept is None:
            raise ValueError("backward pass without a forward pass before it")
        kept, self._kept = self._kept, None
        return self._network.backward(kept, slopes)

    def loss(self, logits: Vector) -> tuple[float, Vector]:
        if self._labels is None:
            raise ValueError("loss without a forward pass before it")
        return self._network.loss(logits, self._labels)
