"""The trajectory of a run: the change of the model in each step, and the gradient before the step.

The implicit momentum of asynchronous training is fitted to both (`analysis/facts/momentum.py`).
A large model is kept as a count sketch (Charikar et al., 2002): every parameter is added, with a
random sign, to one of a few sums. The sketch is linear, so a linear law of the steps holds for it.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import chance
from ....core.server.parameters import State
from ....optimizers.base import OptimizerState
from ....plugins.stateful import Stateful
from ....scenario import Scenario
from ....vectors import Gradient, Vector

FILE = "trajectory.npz"
"""Name of the file in the run's folder."""

Indices: TypeAlias = NDArray[np.integer[Any]]

GradientAt: TypeAlias = Callable[[Vector], Vector]
"""Returns a gradient of the loss at a model, over examples drawn by the function."""


class Sketch:
    """A linear map from a model's parameters to a few signed sums of parameters.

    The map depends on the sizes alone, so runs with different seeds have the same map, and the mean
    over runs means something.
    """

    def __init__(self, parameters: int, directions: int) -> None:
        """Map `parameters` numbers to at most `directions` sums."""
        self.directions = min(parameters, directions)
        self._bins: Indices | None = None
        if parameters > directions:
            rng = chance.stream(chance.sketch(parameters, directions))
            self._bins = rng.integers(directions, size=parameters)
            self._signs = rng.choice(np.array([-1.0, 1.0], np.float32), size=parameters)

    def __call__(self, vector: Vector) -> Vector:
        """Return the sums of `vector`, f32[directions]."""
        if self._bins is None:
            return vector.astype(np.float32)
        sums = np.bincount(self._bins, self._signs * vector, self.directions)
        return sums.astype(np.float32)


class MeasuredState(Stateful):
    """A State that keeps the trajectory of the first steps of another State."""

    STATE = ("_inner", "_kept")

    def __init__(self, inner: State, steps: int, sketch: Sketch, gradient: GradientAt) -> None:
        """Keep at most `steps` steps of `inner`; `gradient` is called once before each of them."""
        self._inner, self._sketch, self._gradient = inner, sketch, gradient
        # all memory at once: a run that cannot have it fails before it learns
        self._changes = np.empty((steps, sketch.directions), np.float32)
        self._gradients = np.empty_like(self._changes)
        self._versions = np.empty(steps, np.int64)
        self._kept = 0

    @property
    def theta(self) -> Vector:
        return self._inner.theta

    @property
    def version(self) -> int:
        return self._inner.version

    @property
    def oldest(self) -> int:
        return self._inner.oldest

    @property
    def everywhere(self) -> bool:
        return self._inner.everywhere

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]:
        """Take the step of the inner state, and keep the step while there is room."""
        number = self._kept
        if number == len(self._versions):
            return self._inner.apply(arrivals, weights)
        before = self._inner.snapshot()
        self._versions[number] = self._inner.version
        with np.errstate(over="ignore", invalid="ignore"):  # a model may overflow
            self._gradients[number] = self._sketch(self._gradient(before))
            divisors = self._inner.apply(arrivals, weights)
            self._changes[number] = self._sketch(self._inner.theta - before)
        self._kept += 1
        return divisors

    def snapshot(self) -> Vector:
        return self._inner.snapshot()

    def optimizer_state(self) -> OptimizerState:
        return self._inner.optimizer_state()

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        self._inner.forget(version, needed)

    def save(self, folder: Path) -> None:
        """Write the trajectory into the run's `folder`.

        Arrays: `changes` and `gradients`, f32[steps, directions], and the `versions` before the
        steps.
        """
        kept = slice(self._kept)
        np.savez(
            folder / FILE,
            changes=self._changes[kept],
            gradients=self._gradients[kept],
            versions=self._versions[kept],
        )


def measured(
    scenario: Scenario, state: State, gradient: Callable[[Vector, Indices], Vector], examples: int
) -> State:
    """Return `state`, with a trajectory if `scenario` has `measure.momentum`.

    `gradient` returns the gradient at a model over some of the `examples` training examples.
    """
    section = None if scenario.measure is None else scenario.measure.momentum
    if section is None:
        return state
    rng, count = chance.stream(chance.measured_examples(scenario.seed)), section.examples

    def drawn(theta: Vector) -> Vector:
        return gradient(theta, rng.integers(examples, size=count))

    sketch = Sketch(scenario.training.layout.size, section.directions)
    return MeasuredState(state, section.steps, sketch, drawn)
