"""A model's exported graph that runs in parts, through the C library on the calling thread alone.

A device runs its layers in segments, each in one run forwards and one run backwards; the server
runs the layers behind a cut at once, forwards and backwards.
"""

import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...layout import Segment
from ...vectors import Vector
from .base import Slopes
from .capi import library
from .graph import QUIET
from .staged_learner import by_layer
from .stages import LAYERS, Crossing, flat, read, unread_after
from .tensors import Array, contents, view
from .tf_session import LoadedGraph, PartialRun


class StagedGraph:
    """A StagedNetwork of TensorFlow's graph. The batch size may change with each `begin`.

    Activations stay in TensorFlow's memory, and are handed from pass to pass without a copy.
    """

    def __init__(self, folder: Path, cut: int | None = None) -> None:
        """Load the model exported to `folder`, each layer a segment; or, as one, those up to `cut`.

        Raises ValueError with the reason if the model cannot be cut there.
        """
        self._model = model = read(folder)
        layers = range(1, len(model.thetas) + 1)
        self._crossing = Crossing(()) if cut is None else model.cut(cut)
        self._segments: list[Segment] = [(1, cut)] if cut else [(n, n) for n in layers]
        self.layout = model.layout.part((1, self._segments[-1][1]))
        self._parts = [model.layout.part(segment) for segment in self._segments]
        stages = model.passes(self._segments, self._crossing.names)
        self._unread = unread_after(stages)
        self._graph = graph = LoadedGraph((folder / LAYERS).read_bytes())
        self._runs = [PartialRun(graph, stage.inputs, stage.outputs) for stage in stages]
        self._tensors: dict[str, int] = {}  # handles of fed and computed tensors
        self._next = len(self._runs)  # number of the pass that may run
        self._rows = 0  # examples of the batch
        self.loss = float("nan")
        self._finalizer = weakref.finalize(self, _free, graph, self._tensors)

    def begin(self, *batch: NDArray[Any]) -> None:
        """Begin an iteration over the `batch` of `Batches`; free the memory of an unended one.

        Without noise in the batch a noisy model has the same noise again.
        """
        _delete(self._tensors, [*self._tensors.keys() - self._graph.feeds.keys()])
        self._next, self._rows, self.loss = 0, len(batch[0]), float("nan")
        # a quiet model has no third input
        for name, value in zip(self._model.examples, (*batch, QUIET), strict=False):
            self._feed(name, value)

    def forward(self, number: int, weights: Vector) -> Vector | None:
        (first, last), part = self._segments[number - 1], self._parts[number - 1]
        if weights.shape != (part.size,):
            named = f"layer {first} has" if first == last else f"layers {first} to {last} have"
            raise ValueError(f"{named} {part.size} parameters, not {weights.shape}")
        thetas = self._model.thetas[first - 1 : last]
        for name, own in zip(thetas, by_layer(part, weights), strict=True):
            self._feed(name, own)
        computed = self._run(number - 1, [self._model.loss, *self._crossing.names])
        if self._model.loss in computed:
            self.loss = float(computed[self._model.loss])
        crossed = [computed[name] for name in self._crossing.names]
        return flat(crossed) if crossed else None

    def backward(self, number: int, slopes: Vector | None = None) -> Vector:
        self._follow(len(self._runs) - number)
        given = np.empty(0, np.float32) if slopes is None else slopes
        arrays = self._crossing.arrays(given, self._rows)
        for name, value in zip(self._crossing.slopes, arrays, strict=True):
            self._feed(name, value)
        first, last = self._segments[number - 1]
        names = self._model.gradients[first - 1 : last]
        computed = self._run(len(self._runs) - number, names)
        return flat([computed[name] for name in names])

    @cached_property
    def _loss(self) -> PartialRun:
        """The loss of logits that the server sends. A model that cannot be cut need not have it."""
        model, logits = self._model, self._model.logits
        given = [logits.name, model.examples[1]]
        return PartialRun(self._graph, given, [model.loss, logits.slope])

    def loss_at(self, logits: Vector) -> tuple[float, Vector]:
        model = self._model
        self._feed(model.logits.name, model.logits.array(logits, self._rows))
        computed = self._loss.arrays(self._tensors)
        return float(computed[model.loss]), np.ravel(computed[model.logits.slope])

    def prepare(self, x: NDArray[np.float32], y: NDArray[np.int32]) -> None:
        """Make all passes on a batch: TensorFlow prepares a pass when the pass runs first."""
        self.begin(x, y)
        crossed: Vector | None = None
        for number, part in enumerate(self._parts, 1):
            crossed = self.forward(number, np.zeros(part.size, np.float32))
        if self._crossing.tensors:
            self.loss_at(np.zeros(len(x) * self._model.logits.size, np.float32))
        for number in range(len(self._segments), 0, -1):
            self.backward(number, crossed)

    def close(self) -> None:
        """Free TensorFlow's memory."""
        self._finalizer()

    def _feed(self, name: str, value: Array) -> None:
        self._tensors[name] = self._graph.feed(name, value)

    def _follow(self, number: int) -> None:
        """Raise ValueError unless pass `number` is the next one."""
        if number != self._next:
            raise ValueError(f"pass {number} of {len(self._runs)} cannot follow {self._next - 1}")

    def _run(self, number: int, results: Sequence[str]) -> dict[str, Array]:
        """Run pass `number`; return the arrays of `results` that the pass computes, by name.

        The arrays are views of memory that is not written again.
        """
        self._follow(number)
        computed = self._runs[number](self._tensors)
        self._next += 1
        self._tensors.update(computed)
        arrays, unread = {}, {*self._unread[number]}
        for name in computed.keys() & {*results}:
            if name in unread:
                arrays[name] = view(self._tensors.pop(name))
            else:  # a later pass reads it
                arrays[name] = contents(computed[name]).copy()
        _delete(self._tensors, [name for name in unread if name in self._tensors])
        return arrays


def _delete(tensors: dict[str, int], names: list[str]) -> None:
    """Delete the named tensors."""
    for name in names:
        library().TF_DeleteTensor(tensors.pop(name))


def _free(graph: LoadedGraph, tensors: dict[str, int]) -> None:
    """Free the graph with its feeds, and the `tensors` that do not belong to a feed."""
    _delete(tensors, [*tensors.keys() - graph.feeds.keys()])
    graph.close()


class ServerGraph:
    """A ServerPart of TensorFlow's graph: each pass is complete in one call.

    The number of examples may change from call to call. It runs on the calling thread alone.
    """

    def __init__(self, folder: Path, layer: int) -> None:
        """Load the layers behind `layer` of the model exported to `folder`.

        Raises ValueError with the reason if the model cannot be cut there.
        """
        self._model = model = read(folder)
        self._crossing = crossing = model.cut(layer)
        self.layout = model.layout.part((layer + 1, len(model.thetas)))
        self._thetas, self._gradients = model.thetas[layer:], model.gradients[layer:]
        given, logits = [*crossing.names, *self._thetas], model.logits
        gradients, y = [*crossing.slopes, *self._gradients], model.examples[1]
        self._graph = graph = LoadedGraph((folder / LAYERS).read_bytes())
        self.close = graph.close
        self._slopes = PartialRun(graph, [*given, y], [model.loss, *gradients])
        self._logits = PartialRun(graph, given, [logits.name])
        self._slopes_of = PartialRun(graph, [*given, logits.slope], gradients)

    def slopes(
        self, weights: Vector, activations: Vector, rows: int, labels: NDArray[np.int32]
    ) -> Slopes:
        fed, y = self._fed(weights, activations, rows), self._model.examples[1]
        fed[y] = self._graph.feed(y, self._labels(labels, rows))
        computed = self._slopes.arrays(fed)
        return Slopes(float(computed[self._model.loss]), *self._results(computed))

    def logits(self, weights: Vector, activations: Vector, rows: int) -> Vector:
        computed = self._logits.arrays(self._fed(weights, activations, rows))
        return np.ravel(computed[self._model.logits.name])

    def slopes_of(
        self, weights: Vector, activations: Vector, rows: int, logit_gradient: Vector
    ) -> tuple[Vector, Vector]:
        logits = self._model.logits
        fed = self._fed(weights, activations, rows)
        slopes = logits.array(logit_gradient, rows)
        fed[logits.slope] = self._graph.feed(logits.slope, slopes)
        return self._results(self._slopes_of.arrays(fed))

    def prepare(self, rows: int) -> None:
        """Run all passes on zeros: TensorFlow prepares a pass when the pass runs first."""
        model, weights = self._model, np.zeros(self.layout.size, np.float32)
        activations = np.zeros(rows * self._crossing.size, np.float32)
        labels = np.zeros((rows, *model.labels[1:]), np.int32)
        self.slopes(weights, activations, rows, labels)
        self.slopes_of(weights, activations, rows, self.logits(weights, activations, rows))

    def _fed(self, weights: Vector, activations: Vector, rows: int) -> dict[str, int]:
        crossing = self._crossing
        values: dict[str, Array] = dict(
            zip(crossing.names, crossing.arrays(activations, rows), strict=True)
        )
        values |= zip(self._thetas, by_layer(self.layout, weights), strict=True)
        return {name: self._graph.feed(name, value) for name, value in values.items()}

    def _labels(self, labels: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
        """Return the labels in the shape of the graph. Raises ValueError for wrong labels."""
        shape = (rows, *self._model.labels[1:])
        classes = self._model.logits.shape[-1]
        if labels.size != np.prod(shape):
            raise ValueError(f"{rows} examples have {np.prod(shape)} labels, not {labels.size}")
        if labels.min() < 0 or labels.max() >= classes:
            raise ValueError(f"a label is not from 0 to {classes - 1}")
        return labels.reshape(shape)

    def _results(self, computed: Mapping[str, Array]) -> tuple[Vector, Vector]:
        """Return the gradients by the activations and by the parameters, both flat."""
        slopes = [computed[name] for name in self._crossing.slopes]
        return flat(slopes), flat([computed[name] for name in self._gradients])
