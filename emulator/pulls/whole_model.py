"""The whole model, to everyone, every time."""

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
    """All parameters; with `values: f16` in half precision, which the worker computes on."""

    values: Values = "f32"
    kind: Literal["dense"] = "dense"

    def __post_init__(self) -> None:
        floats.check(self.values)

    def start(self, layout: Layout, version: int = 0) -> Pulls:
        return WholeModelPulls(self.values)


class WholeModelPulls:
    """Pulls that keep nothing but the model that was coded last."""

    def __init__(self, values: Values) -> None:
        self._values: Values = values
        self._coded: EncodedModel | None = None  # of the present version, once somebody asks for it
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
