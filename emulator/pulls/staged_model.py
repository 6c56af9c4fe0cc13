"""A model that arrives at a worker in pieces, and is complete with its last piece."""

import numpy as np

from ..errors import WireError
from ..layout import Layout, Segment
from ..vectors import Vector


class StagedModel:
    """Received pieces of a model at a single version, from the first layers on."""

    def __init__(self, layout: Layout) -> None:
        self._layout, self._layers = layout, len(layout.layers)
        self._theta: Vector | None = None
        self._version: int | None = None
        self._staged = 0  # layers

    @property
    def complete(self) -> int | None:
        """Version of the model if every layer is staged; None if layers are missing."""
        return self._version if self._staged == self._layers else None

    def drop(self) -> None:
        """Forget the pieces staged; the next piece begins a model."""
        self._version, self._staged = None, 0

    def take(self, version: int, segment: Segment) -> Vector:
        """Return the array for the parameters of `segment`; the caller writes all of them.

        A piece with layer 1 begins anew. Raises WireError, and drops the pieces staged, if another
        piece does not follow the piece before it, or is of another version.
        """
        first, last = segment
        if first == 1:
            self._version, self._staged = version, 0
        if not self._staged + 1 == first <= last <= self._layers or version != self._version:
            expected = f"layer {self._staged + 1} of version {self._version}"
            self.drop()
            raise WireError(f"layers {first} to {last} of version {version}, expected {expected}")
        self._staged = last
        if self._theta is None:
            self._theta = np.empty(self._layout.size, np.float32)
        return self._theta[self._layout.place(segment)]

    def swap(self, spare: Vector | None) -> Vector:
        """Return the complete model, and stage the next one in the array `spare`."""
        assert self.complete is not None and self._theta is not None
        theta, self._theta = self._theta, spare
        self.drop()
        return theta
