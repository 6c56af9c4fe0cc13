"""Pull `dense`: the whole model for every pull."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..layout import Layout, Segment
from ..plugins.stateful import Stateful
from ..vectors import Gradient, Vector
from . import floats
from .base import EncodedModel, Pulls
from .floats import Values


@dataclass(frozen=True)
class WholeModel:
    """Dense pull: all parameters; with `values: f16` in half precision, on which workers
    compute."""

    values: Values = "f32"
    """Precision of the parameters that travel to a worker: `f32` or `f16`."""
    kind: Literal["dense"] = "dense"

    def __post_init__(self) -> None:
        floats.check(self.values)

    def start(self, layout: Layout, version: int = 0) -> Pulls:
        return WholeModelPulls(self.values, layout)


class WholeModelPulls(Stateful):
    """State of dense pulls: the present version's encoding, made at the first question."""

    def __init__(self, values: Values, layout: Layout) -> None:
        self._values: Values = values
        self._layout = layout
        self._coded: EncodedModel | None = None
        self._rounded: Vector | None = None

    def restore(self, state: dict[str, Any]) -> None:
        self._coded = self._rounded = None

    def changed(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        self._coded = self._rounded = None

    def answer(
        self, theta: Vector, held: int | None, segment: Segment | None = None
    ) -> EncodedModel | None:
        if self._values == "f32":
            return None
        if self._coded is None:
            self._coded = EncodedModel((floats.encode(theta, self._values),))
        if segment is None:
            return self._coded
        (whole,) = self._coded.frames
        part = floats.bytes_of(self._layout.place(segment), self._values)
        return EncodedModel((memoryview(whole)[part],))  # a view: no bytes are copied

    def rounded(self, theta: Vector) -> Vector | None:
        if self._values == "f32":
            return None
        if self._rounded is None:
            self._rounded = floats.rounded(theta, self._values)
        return self._rounded
