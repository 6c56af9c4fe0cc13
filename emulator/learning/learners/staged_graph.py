"""A model's exported graph whose layers run apart from each other, through the C library."""

import json
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...layout import Layout
from ...vectors import Vector
from .capi import Output, library
from .graph import QUIET, read_layout
from .stages import Stage, unread_after
from .tensors import Feed, view
from .tf_session import LoadedGraph

LAYERS, STAGES = "layers.pb", "layers.json"
"""Files of an exported model: the graph in stages, and the names of its tensors."""


class _Step(NamedTuple):
    """A stage of the loaded graph."""

    stage: Stage
    inputs: Any  # arrays of Output
    outputs: Any
    unread: list[str]  # tensors that no later stage reads


class LayeredGraph:
    """Layers of a model, on a single thread. The batch size may change with each `begin`.

    Activations stay in TensorFlow's memory, and are handed from stage to stage without a copy.
    """

    def __init__(self, folder: Path) -> None:
        """Load the graph in the folder of an exported model. Raises TensorFlowError."""
        about = json.loads((folder / STAGES).read_bytes())
        self.layout: Layout = read_layout(folder)
        self._about: dict[str, Any] = about
        self._graph = LoadedGraph((folder / LAYERS).read_bytes())
        stages = [Stage.read(stage) for stage in about["stages"]]
        self._steps = [
            _Step(stage, self._find(stage.inputs), self._find(stage.outputs), unread)
            for stage, unread in zip(stages, unread_after(stages), strict=True)
        ]
        self._feeds = {name: Feed() for name in (*about["thetas"], *about["examples"])}
        self._tensors: dict[str, int] = {}  # handles of fed and computed tensors
        self._next = len(self._steps)  # number of the stage that may run
        self.loss = float("nan")
        self._finalizer = weakref.finalize(self, _free, self._graph, self._feeds, self._tensors)

    def begin(self, *batch: NDArray[Any]) -> None:
        """Begin an iteration over the `batch` of `Batches`; free the memory of an unended one.

        Without noise in the batch a noisy model has the same noise again.
        """
        _delete(self._tensors, [*self._tensors.keys() - self._feeds.keys()])
        self._next, self.loss = 0, float("nan")
        # a quiet model has no third input
        for name, value in zip(self._about["examples"], (*batch, QUIET), strict=False):
            self._tensors[name] = self._feeds[name].fill(value)

    def forward(self, layer: int, weights: Vector) -> None:
        """Compute the forward pass of `layer`, which has the parameters `weights`.

        Raises ValueError unless it is the next layer, and `weights` are as many as its parameters.
        """
        place = self.layout.layers[layer - 1]
        # TensorFlow does not check placeholders' shapes: it would use the head of a longer vector
        if weights.shape != (place.stop - place.start,):
            raise ValueError(
                f"layer {layer} has {place.stop - place.start} parameters, not {weights.shape}"
            )
        name = self._about["thetas"][layer - 1]
        self._tensors[name] = self._feeds[name].fill(weights)
        computed = self._run(layer - 1, self._about["loss"])
        if computed is not None:
            self.loss = float(view(computed))

    def backward(self, layer: int) -> Vector:
        """Return the gradient of `layer`: a view of memory that is not written again.

        Raises ValueError unless the later layer's gradient, or the loss, was computed last.
        """
        computed = self._run(len(self._steps) - layer, self._about["gradients"][layer - 1])
        assert computed is not None  # a result of this stage
        return view(computed)

    def prepare(self, x: NDArray[np.float32], y: NDArray[np.int32]) -> None:
        """Run all stages on a batch, as TensorFlow prepares each stage in the stage's first run."""
        self.begin(x, y)
        for layer, place in enumerate(self.layout.layers, 1):
            self.forward(layer, np.zeros(place.stop - place.start, np.float32))
        for layer in range(len(self.layout.layers), 0, -1):
            self.backward(layer)

    def close(self) -> None:
        """Free TensorFlow's memory."""
        self._finalizer()

    def _run(self, number: int, result: str) -> int | None:
        """Run a stage; return the tensor called `result` if the stage computes it, not to be freed
        here."""
        if number != self._next:
            raise ValueError(f"stage {number} of {len(self._steps)} cannot follow {self._next - 1}")
        step = self._steps[number]
        fed = [self._tensors[name] for name in step.stage.inputs]
        computed = self._graph.run(step.inputs, fed, step.outputs)
        self._tensors.update(zip(step.stage.outputs, computed, strict=True))
        self._next += 1
        taken = self._tensors.pop(result) if result in step.stage.outputs else None
        _delete(self._tensors, [name for name in step.unread if name != result])
        return taken

    def _find(self, names: tuple[str, ...]) -> Any:
        return self._graph.find(names) if names else (Output * 0)()


def _delete(tensors: dict[str, int], names: list[str]) -> None:
    """Delete the named tensors."""
    for name in names:
        library().TF_DeleteTensor(tensors.pop(name))


def _free(graph: LoadedGraph, feeds: dict[str, Feed], tensors: dict[str, int]) -> None:
    """Free the graph, the feeds, and the `tensors` that do not belong to a feed."""
    _delete(tensors, [*tensors.keys() - feeds.keys()])
    for feed in feeds.values():
        feed.free()
    graph.close()
