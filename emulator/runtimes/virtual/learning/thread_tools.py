"""The learner and the evaluator of a background thread."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....layout import Layout
from ....learning.learners.graph import GraphEvaluator, GraphLearner
from ....learning.learners.numpy import NumpyEvaluator, NumpyLearner, NumpyStages
from ....learning.learners.staged_graph import StagedGraph
from ....learning.learners.staged_learner import StagedNetwork
from ....vectors import Vector

Inputs: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.int32]


class ThreadLearner(Protocol):
    """Computes gradients, for a single thread."""

    def gradient(self, theta: Vector, x: Inputs, y: Labels) -> tuple[Vector, float]:
        """Return the gradient and the mean loss of the mini-batch (`x`, `y`) at `theta`."""


class ThreadEvaluator(Protocol):
    """Measures models, for a single thread."""

    def evaluate(self, theta: Vector, x: Inputs, y: Labels) -> tuple[float, float]:
        """Return the number of right answers over (`x`, `y`), or the sum of the absolute errors of
        a regression; and the sum of the losses."""


@dataclass(frozen=True)
class ThreadTools:
    """A thread's tools. TensorFlow's sessions and NumPy's scratch memory are not shared."""

    learner: ThreadLearner
    evaluator: ThreadEvaluator
    part: StagedNetwork | None = None
    """The layers before the cut of a model; None if devices compute whole models."""


def tools_factory(
    learner: str, layout: Layout, graph: Path | None, cut: int | None = None
) -> Callable[[], ThreadTools]:
    """Return a function to make a thread's tools.

    `learner` is `numpy` or `tensorflow`, which needs the exported `graph` of the model. `cut` is
    the last layer of the devices, if the model is cut.
    """
    if learner == "numpy":
        return lambda: ThreadTools(
            NumpyLearner(layout),
            NumpyEvaluator(layout),
            NumpyStages(layout, cut) if cut else None,
        )
    if graph is None:
        raise TypeError("TensorFlow needs an exported model")
    return lambda: ThreadTools(
        GraphLearner(graph), GraphEvaluator(graph), StagedGraph(graph, cut) if cut else None
    )
