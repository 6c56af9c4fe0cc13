"""Only what changed since the model that the worker holds."""

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
    """Exactly the parameters that changed, and where they are; all of them where that is smaller.

    With `values: f32` the worker's model is bit for bit the server's. With `f16` it is the
    server's in half precision, as with dense pulls: what did not change was sent so before.
    """

    values: Values = "f32"
    kind: Literal["delta"] = "delta"

    def __post_init__(self) -> None:
        floats.check(self.values)

    def start(self, layout: Layout, version: int = 0) -> Pulls:
        return DeltaPulls(self.values, layout, version)


class DeltaPulls:
    """Pulls that know what the latest updates held."""

    def __init__(self, values: Values, layout: Layout, version: int) -> None:
        self._values: Values = values
        self._whole = WholeModelPulls(values)
        self._layout, self._size = layout, layout.size
        self._changes = Changes(layout.size, version)
        self._coded: dict[int, EncodedModel | None] = {}  # by what is held, of the present version

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
        """None where the whole model is no larger."""
        changed = self._changes.since(held)
        if changed is None or changed.size >= self._size:
            return None
        frames = (
            INDICES.encode(changed, self._layout),
            floats.encode(theta[changed], self._values),
        )
        smaller = sum(map(len, frames)) < self._size * floats.width(self._values)
        return EncodedModel(frames, held) if smaller else None
