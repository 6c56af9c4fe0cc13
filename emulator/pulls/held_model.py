"""The model that a worker holds, patched by the answers of the server."""

from ..codecs.indices import CODINGS
from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Vector
from . import floats
from .floats import Values


class HeldModel:
    """The model of a worker, from boot to crash; a worker begins without a model."""

    def __init__(self, values: Values, layout: Layout) -> None:
        self._values: Values = values
        self._layout, self._size = layout, layout.size
        self._theta: Vector | None = None
        self.version: int | None = None
        """Version held; None before the first model."""

    def store(self, version: int, theta: Vector) -> Vector:
        """Hold a copy of the whole model `theta` at `version`, and return the copy."""
        self._theta, self.version = theta.copy(), version
        return self._theta

    def forget(self) -> None:
        """Drop the model; the next answer will be a whole model."""
        self._theta = self.version = None

    def decode(self, version: int, frames: Frames, base: int | None) -> Vector:
        """Decode the model at `version` from `frames`, hold and return the result.

        `base` is the version that the frames patch; None means that they hold the whole model.
        Raises WireError, and keeps the model held, if `base` is another version or the sizes do not
        fit. The next call may patch the returned array in place.
        """
        if base is None:
            (frame,) = frames
            theta = floats.decode(frame, self._values, self._size)
        else:
            theta = self._patched(frames, base)
        self._theta, self.version = theta, version
        return theta

    def _patched(self, frames: Frames, base: int) -> Vector:
        """Return the model held after writing the parameters in `frames` into it."""
        if self._theta is None or base != self.version:
            raise WireError(f"a patch to version {base}, but {self.version} is held")
        coded, values = frames
        entries, remainder = divmod(len(values), floats.width(self._values))
        if remainder or entries > self._size:
            raise WireError(f"{len(values)} bytes of {self._size} parameters at most")
        changed = CODINGS["auto"].decode(coded, entries, self._layout)
        self._theta[changed] = floats.decode(values, self._values, entries)
        return self._theta
