"""A model is a layout of variables, a way to draw them, and a function from inputs to logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import chance
from ..layout import Layout, Variable
from ..vectors import Vector
from .task import Task


class Draw(Protocol):
    """How a variable begins; it takes from `rng` alone."""

    def __call__(self, variable: Variable, rng: np.random.Generator) -> NDArray[Any]: ...


class Logits(Protocol):
    """The forward pass, written with the TensorFlow module that the caller hands in.

    `variables` stand in the layout's order and shapes; `x` is as `Examples.batch` gives it. What
    comes back is float32 [batch, classes], or [batch, length, classes] for texts.
    """

    def __call__(self, tf: Any, variables: Sequence[Any], x: Any) -> Any: ...


@dataclass(frozen=True)
class Model:
    """A classifier of small grey images or of characters. Knowing it costs no TensorFlow."""

    name: str
    task: Task
    layout: Layout
    draw: Draw
    logits: Logits

    def initial(self, seed: int) -> Vector:
        """The weights that every run with this seed begins with, flat in the layout's order."""
        rng = chance.stream(chance.initial_model(seed))
        drawn = [np.ravel(self.draw(variable, rng)) for variable in self.layout.variables]
        return np.concatenate(drawn).astype(np.float32)
