"""The layers of an exported model behind a cut, which the server computes through the C library."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...vectors import Vector
from .base import Slopes
from .crossings import flat
from .cut_graph import PartialRun, by_layer, load, read
from .tensors import Array, Feed, Tensor


class ServerGraph:
    """A ServerPart of TensorFlow's graph: each pass is complete in one call.

    The number of examples may change from call to call. It runs on the calling thread alone.
    """

    def __init__(self, folder: Path, layer: int) -> None:
        """Load the layers behind `layer` of the model exported to `folder`.

        Raises ValueError with the reason if the model cannot be cut there.
        """
        self._model = model = read(folder, layer)
        self.layout = model.layout.part((layer + 1, len(model.thetas)))
        self._thetas, self._gradients = model.thetas[layer:], model.gradients[layer:]
        given, logits = [*model.crossing.names, *self._thetas], model.logits
        gradients = [*model.crossing.slopes, *self._gradients]
        graph = load(folder)
        self.close = graph.close
        self._slopes = PartialRun(graph, [*given, model.y], [model.loss, *gradients])
        self._logits = PartialRun(graph, given, [logits.name])
        self._slopes_of = PartialRun(graph, [*given, logits.slope], gradients)
        self._feeds = {name: Feed() for name in (*given, model.y, logits.slope)}

    def slopes(
        self, weights: Vector, activations: Vector, rows: int, labels: NDArray[np.int32]
    ) -> Slopes:
        model = self._model
        fed = self._fed(weights, activations, rows)
        fed[model.y] = self._feeds[model.y].fill(self._labels(labels, rows))
        computed = self._slopes(fed)
        return Slopes(float(computed[model.loss].array), *self._results(computed))

    def logits(self, weights: Vector, activations: Vector, rows: int) -> Vector:
        computed = self._logits(self._fed(weights, activations, rows))
        return np.ravel(computed[self._model.logits.name].array)

    def slopes_of(
        self, weights: Vector, activations: Vector, rows: int, logit_gradient: Vector
    ) -> tuple[Vector, Vector]:
        logits = self._model.logits
        fed = self._fed(weights, activations, rows)
        fed[logits.slope] = self._feeds[logits.slope].fill(logits.array(logit_gradient, rows))
        return self._results(self._slopes_of(fed))

    def prepare(self, rows: int) -> None:
        """Run all passes on zeros: TensorFlow prepares a pass when the pass runs first."""
        model, weights = self._model, np.zeros(self.layout.size, np.float32)
        activations = np.zeros(rows * model.crossing.size, np.float32)
        labels = np.zeros((rows, *model.labels[1:]), np.int32)
        self.slopes(weights, activations, rows, labels)
        self.slopes_of(weights, activations, rows, self.logits(weights, activations, rows))

    def _fed(self, weights: Vector, activations: Vector, rows: int) -> dict[str, int]:
        crossing = self._model.crossing
        values: dict[str, Array] = dict(
            zip(crossing.names, crossing.arrays(activations, rows), strict=True)
        )
        values |= zip(self._thetas, by_layer(self.layout, weights), strict=True)
        return {name: self._feeds[name].fill(value) for name, value in values.items()}

    def _labels(self, labels: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
        """Return the labels in the shape of the graph. Raises ValueError for wrong labels."""
        shape = (rows, *self._model.labels[1:])
        classes = self._model.logits.shape[-1]
        if labels.size != np.prod(shape):
            raise ValueError(f"{rows} examples have {np.prod(shape)} labels, not {labels.size}")
        if labels.min() < 0 or labels.max() >= classes:
            raise ValueError(f"a label is not from 0 to {classes - 1}")
        return labels.reshape(shape)

    def _results(self, computed: Mapping[str, Tensor]) -> tuple[Vector, Vector]:
        """Return the gradients by the activations and by the parameters, both flat."""
        slopes = [computed[name].array for name in self._model.crossing.slopes]
        return flat(slopes), flat([computed[name].array for name in self._gradients])
