"""Pull `dense`: the whole model for every pull."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..layout import Layout
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
        return WholeModelPulls(self.values)


class WholeModelPulls:
    """State of dense pulls: the present version's encoding, made at the first question."""

    def __init__(self, values: Values) -> None:
        self._values: Values = values
        self._coded: EncodedModel | None = None
        self._rounded: Vector | None = None

    def changed(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        self._coded = self._rounded = None

    def answer(self, theta: Vector, held: int | None) -> EncodedModel | None:
        if self._values == "f32":
            return None
        if self._coded is None:
            self._coded = EncodedModel((floats.encode(theta, self._values),))
        return self._coded

    def rounded(self, theta: Vector) -> Vector | None:
        if self._values == "f32":
            return None
        if self._rounded is None:
            self._rounded = floats.rounded(theta, self._values)
        return self._rounded
