"""The whole model, to everyone, every time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..codecs.base import Gradient, Vector
from ..layout import Layout
from . import floats
from .base import Pulls, Sent
from .floats import Values


@dataclass(frozen=True)
class Dense:
    """All parameters; with `values: f16` in half precision, which the worker computes on."""

    values: Values = "f32"
    kind: Literal["dense"] = "dense"

    def __post_init__(self) -> None:
        floats.check(self.values)

    def start(self, layout: Layout, version: int = 0) -> Pulls:
        return Whole(self.values)


class Whole:
    """Pulls that keep nothing but the model that was coded last."""

    def __init__(self, values: Values) -> None:
        self._values: Values = values
        self._coded: tuple[int, Sent] | None = None

    def changed(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        self._coded = None

    def answer(self, theta: Vector, version: int, held: int | None) -> Sent:
        if self._values == "f32":
            return Sent(theta)
        if self._coded is None or self._coded[0] != version:
            frames = (floats.coded(theta, self._values),)
            self._coded = version, Sent(floats.held(theta, self._values), frames)
        return self._coded[1]
