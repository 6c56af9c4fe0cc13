"""Search of a model's graph for the tensors that cross a cut behind each layer.

A cut is possible if the tensors that cross are all that the later layers need of the earlier ones:
each has as many floats for every example, and no later layer reads the model's input, or
parameters of an earlier layer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import tensorflow as tf

from ..stages import Crossing, CrossingTensor

Pair: TypeAlias = tuple[Any, Any]
"""A tensor of the forward pass, and the gradient of the loss by the tensor."""

Shape: TypeAlias = tuple[int, ...]

Measured: TypeAlias = tuple[Shape, int]
"""Shape of a tensor with -1 where it grows with the examples, and the floats of one example."""

_FEW, _MORE = 2, 3
"""Numbers of examples with which the size of an example is measured."""


class DerivedGraph(NamedTuple):
    """Inputs and results of a graph."""

    graph: Any
    thetas: list[Any]
    """Parameters of each layer."""
    examples: list[Any]
    """Inputs x and y, and noise if the network is noisy."""
    loss: Any
    gradients: list[Any]
    """Gradient of each layer."""


def crossings(places: Sequence[Sequence[Pair]], graph: DerivedGraph) -> list[Crossing]:
    """Return the tensors that cross at each of `places`: behind layer 1, 2, … and the last.

    A place is given as its tensors with a gradient. Behind the last layer the logits cross.
    """
    tensors = [tensor for place in places for tensor, _ in place]
    few, more = (_shapes(tensors, rows, graph) for rows in (_FEW, _MORE))
    measured = {t.name: _measured(few[t.name], more[t.name]) for t in tensors}
    return [_crossing(pairs, layer, measured, graph) for layer, pairs in enumerate(places, 1)]


def _crossing(
    pairs: Sequence[Pair], layer: int, measured: Mapping[str, Measured | None], graph: DerivedGraph
) -> Crossing:
    """Return the tensors of `pairs` as they cross behind `layer`, or the reason why they cannot."""
    tensors = []
    for tensor, slope in pairs:
        size = measured[tensor.name]
        if size is None or tensor.dtype != tf.float32:
            return Crossing((), f"{tensor.name} would cross, and has no float32 for each example")
        tensors.append(CrossingTensor(tensor.name, *size, slope.name))
    if reason := _missing(pairs, layer, graph):
        return Crossing((), reason)
    return Crossing(tuple(tensors))


def _shapes(tensors: Sequence[Any], rows: int, graph: DerivedGraph) -> dict[str, Shape]:
    """Return the shapes of `tensors` for `rows` examples, computed by the graph."""
    fed = {t.name: np.zeros(t.shape, np.float32) for t in graph.thetas}
    x, y, *noise = graph.examples
    fed |= {t.name: np.zeros((rows, *t.shape[1:]), t.dtype.as_numpy_dtype) for t in (x, y)}
    fed |= {t.name: np.zeros(t.shape, t.dtype.as_numpy_dtype) for t in noise}
    named = {tensor.name: tensor for tensor in tensors}
    with tf.compat.v1.Session(graph=graph.graph) as session:
        return {name: value.shape for name, value in session.run(named, fed).items()}


def _measured(few: Shape, more: Shape) -> Measured | None:
    """Return a tensor's shape with -1 where it grows with the examples, and an example's floats.

    `few` and `more` are the shapes for as many examples. Return None unless one dimension alone
    grows, in proportion to the examples.
    """
    shape = tuple(a if a == b else -1 for a, b in zip(few, more, strict=True))
    sizes = int(np.prod(few)), int(np.prod(more))
    if shape.count(-1) != 1 or sizes[0] * _MORE != sizes[1] * _FEW:
        return None
    return shape, sizes[0] // _FEW


def _missing(pairs: Sequence[Pair], layer: int, graph: DerivedGraph) -> str:
    """Return the reason why one part of the model cannot be computed without the other.

    `pairs` cross behind `layer`. The reason is empty if the two parts need nothing else.
    """
    tensors, slopes = [tensor for tensor, _ in pairs], [slope for _, slope in pairs]
    x, y = graph.examples[:2]  # noise may be read by neither part
    # server's part: everything from the activations and the labels on
    server = [graph.loss, *graph.gradients[layer:], *slopes]
    read = _inputs(server, tensors) - {t.op for t in (*graph.thetas[layer:], y)}
    # device's part, backwards: from the gradients of the activations on
    device = _inputs(graph.gradients[:layer], slopes)
    read |= device - {t.op for t in (*graph.thetas[:layer], x)}
    parameters = {t.op: f"the parameters of layer {n}" for n, t in enumerate(graph.thetas, 1)}
    names = " and ".join(sorted(parameters.get(each, each.name) for each in read))
    return f"both parts of the model would read {names}" if read else ""


def _inputs(results: Iterable[Any], fed: Iterable[Any]) -> set[Any]:
    """Return the inputs of the graph that `results` depend on, if the tensors `fed` are given."""
    given = {tensor.name for tensor in fed}
    waiting, seen = [tensor.op for tensor in results if tensor.name not in given], set()
    while waiting:
        operation = waiting.pop()
        if operation not in seen:
            seen.add(operation)
            waiting += [tensor.op for tensor in operation.inputs if tensor.name not in given]
            waiting += operation.control_inputs
    return {operation for operation in seen if operation.type == "Placeholder"}
