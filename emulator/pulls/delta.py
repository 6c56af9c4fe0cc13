"""Pull `delta`: only the parameters that changed since the worker's version."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..codecs.indices import CODINGS
from ..layout import Layout
from ..vectors import Gradient, Vector
from . import floats
from .base import EncodedModel, Pulls
from .changes import Changes
from .floats import Values
from .whole_model import WholeModelPulls

INDICES = CODINGS["auto"]


@dataclass(frozen=True)
class Delta:
    """Delta pull: the parameters that changed and their indices, or the whole model if smaller.

    With `values: f32` the worker's model equals the server's bit for bit. With `f16` it equals the
    server's in half precision, as with dense pulls: unchanged parameters were sent in that
    precision before.
    """

    values: Values = "f32"
    """Precision of the parameters that travel to a worker: `f32` or `f16`."""
    kind: Literal["delta"] = "delta"

    def __post_init__(self) -> None:
        floats.check(self.values)

    def start(self, layout: Layout, version: int = 0) -> Pulls:
        return DeltaPulls(self.values, layout, version)


class DeltaPulls:
    """State of delta pulls: the latest changes, and the answers for the present version."""

    def __init__(self, values: Values, layout: Layout, version: int) -> None:
        self._values: Values = values
        self._whole = WholeModelPulls(values)
        self._layout, self._size = layout, layout.size
        self._changes = Changes(layout.size, version)
        # answers for the present version, by the version that a worker holds
        self._coded: dict[int, EncodedModel | None] = {}

    def changed(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        self._whole.changed(gradients, everywhere)
        self._changes.note(gradients, everywhere)
        self._coded.clear()

    def answer(self, theta: Vector, held: int | None) -> EncodedModel | None:
        if held is None:
            return self._whole.answer(theta, None)
        if held not in self._coded:
            self._coded[held] = self._patch(theta, held) or self._whole.answer(theta, None)
        return self._coded[held]

    def rounded(self, theta: Vector) -> Vector | None:
        return self._whole.rounded(theta)

    def _patch(self, theta: Vector, held: int) -> EncodedModel | None:
        """Return the patch from version `held`; None if unknown or as large as the whole model."""
        changed = self._changes.since(held)
        if changed is None or changed.size >= self._size:
            return None
        frames = (
            INDICES.encode(changed, self._layout),
            floats.encode(theta[changed], self._values),
        )
        smaller = sum(map(len, frames)) < self._size * floats.width(self._values)
        return EncodedModel(frames, held) if smaller else None
