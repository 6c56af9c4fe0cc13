"""The model that a worker holds, patched by the answers of the server, which may come in pieces."""

import numpy as np

from ..codecs.indices import CODINGS
from ..errors import WireError
from ..layout import Layout, Segment
from ..vectors import Frames, Indices, Vector
from . import floats
from .floats import Values


class HeldModel:
    """The model of a worker, from boot to crash; a worker begins without a model.

    The pieces of a model are staged, so that a pull that breaks off leaves the model held before.
    """

    def __init__(self, values: Values, layout: Layout) -> None:
        self._values: Values = values
        self._layout, self._size = layout, layout.size
        self._theta: Vector | None = None
        self._staged = StagedModel(layout)
        self.version: int | None = None
        """Version held; None before the first model."""

    def store(self, version: int, theta: Vector) -> Vector:
        """Hold a copy of the whole model `theta` at `version`, and return the copy."""
        return self._hold(version, theta.copy())

    def forget(self) -> None:
        """Drop the model; the next answer will be a whole model."""
        self._theta = self.version = None
        self._staged.drop()

    def decode(self, version: int, frames: Frames, base: int | None) -> Vector:
        """Decode the model at `version` from `frames`, hold and return the result.

        `base` is the version that the frames patch; None means that they hold the whole model.
        Raises WireError, and keeps the model held, if `base` is another version or the sizes do not
        fit. The next call may patch the returned array in place.
        """
        if base is None:
            return self._hold(version, self._whole(frames, self._layout))
        held = self._held(base)
        changed, values = self._changes(frames, self._layout)
        held[changed] = values
        return self._hold(version, held)

    def store_segment(self, version: int, segment: Segment, theta: Vector) -> Vector:
        """Stage a copy of `theta`, the parameters of `segment` at `version`, and return the copy.

        The model is held once the piece with the last layer is staged. Raises WireError, drops the
        pieces staged, and keeps the model held, unless `segment` begins the model or follows the
        piece before it, of the same version. The returned array keeps its values until the pull
        after the next one.
        """
        part = self._staged.take(version, segment)
        if theta.size != part.size:
            self._staged.drop()
            raise WireError(f"{theta.size} parameters in layers {segment}, expected {part.size}")
        part[:] = theta
        self._complete()
        return part

    def decode_segment(
        self, version: int, segment: Segment, frames: Frames, base: int | None
    ) -> Vector:
        """Stage the parameters of `segment` at `version`, decoded from `frames`, and return them.

        As `store_segment`, with the `frames` and `base` of `decode`.
        """
        part, layout = self._staged.take(version, segment), self._layout.part(segment)
        try:
            if base is None:
                part[:] = self._whole(frames, layout)
            else:
                part[:] = self._held(base)[self._layout.place(segment)]
                changed, values = self._changes(frames, layout)
                part[changed] = values
        except WireError:
            self._staged.drop()
            raise
        self._complete()
        return part

    def _complete(self) -> None:
        """Hold the staged model if it is complete; the model held before is staged over next."""
        version = self._staged.complete
        if version is not None:
            self._theta, self.version = self._staged.swap(self._theta), version

    def _hold(self, version: int, theta: Vector) -> Vector:
        """Hold `theta` at `version`; the pieces staged are of a pull that this one overtook."""
        self._staged.drop()
        self._theta, self.version = theta, version
        return theta

    def _held(self, base: int) -> Vector:
        """Return the model held. Raises WireError unless its version is `base`."""
        if self._theta is None or base != self.version:
            raise WireError(f"a patch to version {base}, but {self.version} is held")
        return self._theta

    def _whole(self, frames: Frames, layout: Layout) -> Vector:
        """Return all parameters of `layout` in `frames`."""
        if len(frames) != 1:
            raise WireError(f"parameters in {len(frames)} frames, expected 1")
        return floats.decode(frames[0], self._values, layout.size)

    def _changes(self, frames: Frames, layout: Layout) -> tuple[Indices, Vector]:
        """Return indices and values of the changed parameters of `layout` in `frames`."""
        if len(frames) != 2:
            raise WireError(f"a patch of {len(frames)} frames, expected 2")
        coded, values = frames
        entries, remainder = divmod(len(values), floats.width(self._values))
        if remainder or entries > layout.size:
            raise WireError(f"{len(values)} bytes of {layout.size} parameters at most")
        changed = CODINGS["auto"].decode(coded, entries, layout)
        return changed, floats.decode(values, self._values, entries)


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
