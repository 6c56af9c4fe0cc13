"""Models: a layout of variables, their initial values, and a function from inputs to logits."""

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
    """Function that draws the initial values of a variable from `rng` alone."""

    def __call__(self, variable: Variable, rng: np.random.Generator) -> NDArray[Any]: ...


class Logits(Protocol):
    """Forward pass, written with the TensorFlow module that the caller passes as `tf`.

    `variables` have the layout's order and shapes; `x` is as `Examples.batch` returns it. The
    result is float32 [batch, classes] for images, [batch, length, classes] for texts.
    """

    def __call__(self, tf: Any, variables: Sequence[Any], x: Any) -> Any: ...


@dataclass(frozen=True)
class Model:
    """A classifier of small grey images or of characters. Loading it does not import TensorFlow."""

    name: str
    task: Task
    layout: Layout
    draw: Draw
    logits: Logits

    def initial(self, seed: int) -> Vector:
        """Return the initial weights of every run with `seed`, flat float32 in the layout's
        order."""
        rng = chance.stream(chance.initial_model(seed))
        drawn = [np.ravel(self.draw(variable, rng)) for variable in self.layout.variables]
        return np.concatenate(drawn).astype(np.float32)
