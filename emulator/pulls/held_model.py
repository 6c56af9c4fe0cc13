"""The model that a worker holds, patched by what comes down."""

from ..codecs.indices import CODINGS
from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Vector
from . import floats
from .floats import Values


class HeldModel:
    """For one incarnation of a worker: it begins with nothing."""

    def __init__(self, values: Values, layout: Layout) -> None:
        self._values: Values = values
        self._layout, self._size = layout, layout.size
        self._theta: Vector | None = None
        self.version: int | None = None
        """What it holds; None: nothing yet."""

    def store(self, version: int, theta: Vector) -> Vector:
        """A model that travelled as it is; a copy of it is held, and returned."""
        self._theta, self.version = theta.copy(), version
        return self._theta

    def forget(self) -> None:
        """Hold nothing, so that the next model is whole."""
        self._theta = self.version = None

    def decode(self, version: int, frames: Frames, base: int | None) -> Vector:
        """The model at `version`, from what came of it; `base` None: all of it did.

        A WireError if it is no patch to what is held, or not of the model's size; then what is
        held stays. The array is patched in place by the next call.
        """
        if base is None:
            (frame,) = frames
            theta = floats.decode(frame, self._values, self._size)
        else:
            theta = self._patched(frames, base)
        self._theta, self.version = theta, version
        return theta

    def _patched(self, frames: Frames, base: int) -> Vector:
        if self._theta is None or base != self.version:
            raise WireError(f"a patch to version {base}, but {self.version} is held")
        coded, values = frames
        entries, rest = divmod(len(values), floats.width(self._values))
        if rest or entries > self._size:
            raise WireError(f"{len(values)} bytes of {self._size} parameters at most")
        changed = CODINGS["auto"].decode(coded, entries, self._layout)
        self._theta[changed] = floats.decode(values, self._values, entries)
        return self._theta
