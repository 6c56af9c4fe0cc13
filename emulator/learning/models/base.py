"""Models: a layout of variables, their initial values, and a function from inputs to logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import chance
from ...layout import Layout, Variable
from ...vectors import Vector
from .task import Task


class Draw(Protocol):
    """Function that draws the initial values of a variable from `rng` alone."""

    def __call__(self, variable: Variable, rng: np.random.Generator) -> NDArray[Any]: ...


class ForwardPass(Protocol):
    """Forward pass, written with the TensorFlow module that the caller passes as `tf`.

    `variables` have the layout's order and shapes; `x` is as `Examples.batch` returns it. The
    result is float32 [batch, classes] for images, [batch, length, classes] for texts.
    """

    def __call__(self, tf: Any, variables: Sequence[Any], x: Any) -> Any: ...


@dataclass(frozen=True)
class Model:
    """A classifier of small images or of characters. Loading it does not import TensorFlow."""

    name: str
    task: Task
    layout: Layout
    draw: Draw
    logits: ForwardPass
    crossings: tuple[int, ...] = ()
    """Activations of one example that later layers read, behind layer 1, 2, … and the last but one.

    Empty: the model cannot be cut.
    """

    noisy: bool = False
    """Whether training draws random numbers, as Dropout does."""

    @property
    def title(self) -> str:
        """Name of the model in messages."""
        return self.name

    def initial(self, seed: int) -> Vector:
        """Return the initial weights of every run with `seed`, flat float32 in the layout's
        order."""
        rng = chance.stream(chance.initial_model(seed))
        drawn = [np.ravel(self.draw(variable, rng)) for variable in self.layout.variables]
        return np.concatenate(drawn).astype(np.float32)

    def crossing(self, layer: int) -> int:
        """Return the floats of one example that cross a cut behind `layer`, which counts from 1.

        As many come back, as the gradient by the activations. Raises ValueError if the model cannot
        be cut there.
        """
        if 1 <= layer <= len(self.crossings):
            return self.crossings[layer - 1]
        if len(self.layout.layers) == 1:
            raise ValueError(f"{self.title} cannot be cut: it has a single layer")
        if not self.crossings:
            raise ValueError(f"{self.title} cannot be cut: its activations are not declared")
        raise ValueError(
            f"{self.title} has {len(self.layout.layers)} layers and cannot be cut behind layer "
            f"{layer}: take a layer from 1 to {len(self.crossings)}"
        )

    def before_dense(self) -> int:
        """Return the number of the last layer before the first dense layer, counted from 1.

        Raises ValueError with the reason if the model has no dense layer, or begins with one.
        """
        layers = range(1, len(self.layout.layers) + 1)
        kinds = [self.layout.part((layer, layer)).variables[0].kind for layer in layers]
        if "dense" not in kinds:
            raise ValueError(
                f"{self.title} has no dense layer, so the server would hold nothing: "
                "take after: LAYER to cut behind another layer"
            )
        if not kinds.index("dense"):
            raise ValueError(
                f"{self.title} begins with a dense layer, so devices would hold nothing: "
                "take after: LAYER to cut behind another layer"
            )
        return kinds.index("dense")
