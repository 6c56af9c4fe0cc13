"""Export of a model as one graph in stages: each layer's forward and backward pass.

The boundaries between layers follow from the graph that `Model.logits` builds, so that a model has
nothing to mark: an operation belongs to the last layer on whose parameters it depends. Operations
without parameters thus belong to the parameterised layer before them, and a residual connection
passes by the layers that it skips.
"""

from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph

from ..stages import LAYERS, Crossing, Stage
from .crossing_search import DerivedGraph, Pair, crossings
from .networks import TFNetwork, examples

REPEATED = "MaxPool"
"""Type of operations that a backward pass repeats: oneDNN's fast gradient of a maximum needs the
maximum in the same run. Without it the first layer of `mnist-cnn` took 16.7 ms backward instead of
5.2 ms, at batch 128."""

Operations = dict[Any, int]
"""Number of the stage of each operation, from 0. Constants and inputs of the graph have none."""


class _ForwardPass(NamedTuple):
    """Forward pass of a model in a graph."""

    thetas: list[Any]
    """Parameters of each layer, flat."""
    variables: list[list[Any]]
    """Variables of each layer, in their shapes."""
    examples: list[Any]
    """Inputs x and y, and noise if the network is noisy."""
    logits: Any
    loss: Any


class Staged(NamedTuple):
    """A model in stages; tensors are called `operation:index`."""

    graph: bytes
    """Serialized GraphDef."""
    thetas: list[str]
    """Input of each layer's parameters, flat float32."""
    examples: list[str]
    """Inputs x and y, and noise if the network is noisy."""
    loss: str
    gradients: list[str]
    """Gradient of each layer, flat float32."""
    stages: list[Stage]
    """Forward from the first layer to the last, then backward from the last layer to the first."""
    labels: tuple[int, ...]
    """Shape of y; -1 stands for the number of examples."""
    crossings: list[Crossing]
    """Tensors that cross behind layer 1, 2, …; behind the last layer the logits."""

    def plain(self) -> dict[str, Any]:
        """Return the names as JSON holds them, without the graph."""
        stages = [{"inputs": [*stage.inputs], "outputs": [*stage.outputs]} for stage in self.stages]
        crossings = [crossing.plain() for crossing in self.crossings]
        own = {"graph": LAYERS, "stages": stages, "crossings": crossings}
        return {**self._asdict(), **own}


def staged(network: TFNetwork) -> Staged:
    """Return the stages of `network`. Raises ValueError with the reason if it has none."""
    graph: Any = FuncGraph("layers")
    with graph.as_default():
        built = _forward(network)
        depths = _depths(graph, built)
        gradients, placement, places = _backward(graph, built, depths)
    if graph.captures:
        raise ValueError("it reads constants that are made outside of its layers' calls")
    # what depends on the examples alone is computed with the first layer
    placement |= {operation: max(depth, 1) - 1 for operation, depth in depths.items()}
    for given in (*built.thetas, *built.examples):
        placement.pop(given.op, None)
    computed = DerivedGraph(graph, built.thetas, built.examples, built.loss, gradients)
    return Staged(
        _with_whole_loops(graph.as_graph_def()).SerializeToString(),
        [tensor.name for tensor in built.thetas],
        [tensor.name for tensor in built.examples],
        built.loss.name,
        [tensor.name for tensor in gradients],
        _stages(placement, [built.loss, *gradients], 2 * len(built.thetas)),
        (-1, *network.task.answers),
        crossings(places, computed),
    )


def _with_whole_loops(graph: Any) -> Any:
    """Return `graph`, a GraphDef, with loops that a session runs as single operations.

    A session takes other loops apart before it looks at what is fed. It would then compute the
    forward loop once more in the backward pass, for which it lacks the parameters.
    """
    for node in graph.node:
        if "_lower_using_switch_merge" in node.attr:
            node.attr["_lower_using_switch_merge"].b = False
    return graph


def _forward(network: TFNetwork) -> _ForwardPass:
    """Build the forward pass of `network` in the current graph, with an input for each layer."""
    placeholder = tf.compat.v1.placeholder
    given = [placeholder(kind, shape, name) for shape, kind, name in examples(network)]
    x, y, *noise = given
    thetas, variables = [], []
    for number in range(1, len(network.layout.layers) + 1):
        part = network.layout.part((number, number))
        thetas.append(placeholder(tf.float32, [part.size], f"theta{number}"))
        variables.append([tf.reshape(thetas[-1][at], v.shape) for v, at in part])
    logits, _ = network.trained([v for layer in variables for v in layer], x, *noise)
    loss = tf.reduce_mean(network.losses(logits, y))
    return _ForwardPass(thetas, variables, given, logits, loss)


def _depths(graph: Any, network: _ForwardPass) -> Operations:
    """Return, for each operation, the number of the last layer among its inputs, from 1.

    0 stands for operations that depend on the examples alone. Constants are left out.
    """
    depths: Operations = {tensor.op: 0 for tensor in network.examples}
    depths |= {tensor.op: number for number, tensor in enumerate(network.thetas, 1)}
    for operation in graph.get_operations():  # in the order of creation: inputs come first
        before = [depths[source] for source in _sources(operation) if source in depths]
        if before:
            depths[operation] = max(before)
    return _with_lists(graph, depths)


def _with_lists(graph: Any, depths: Operations) -> Operations:
    """Return `depths` with operations that make a list of tensors in the layer that reads the list.

    No gradient is known by a list, such as a loop over a text reads; it is known by its tensors.
    """
    for operation in reversed(graph.get_operations()):
        if operation in depths and any(t.dtype == tf.variant for t in operation.outputs):
            readers = [op for tensor in operation.outputs for op in tensor.consumers()]
            later = [depths[op] for op in readers if op in depths]
            depths[operation] = min(later, default=depths[operation])
    return depths


def _sources(operation: Any) -> list[Any]:
    """Return the operations that must run before `operation`."""
    return [*(tensor.op for tensor in operation.inputs), *operation.control_inputs]


def _backward(
    graph: Any, network: _ForwardPass, depths: Operations
) -> tuple[list[Any], Operations, list[list[Pair]]]:
    """Add each layer's backward pass.

    Return the layers' gradients, the stages of the new operations, and the tensors that cross
    behind each layer with their gradients. Behind the last layer the logits cross.

    The gradients of tensors that a later layer reads are handed from layer to layer. They are
    added in the order in which `tf.gradients` adds them, the later layer's first.
    """
    count, begun = len(network.thetas), len(graph.get_operations())
    (slope,) = tf.gradients(network.loss, network.logits)
    slopes = {network.logits.name: (network.logits, slope)}
    places: list[list[Pair]] = [[*slopes.values()]]
    gradients: list[Any] = []
    placement: Operations = {}
    for layer in range(count, 0, -1):
        ends = [pair for pair in slopes.values() if depths[pair[0].op] == layer]
        entered, variables = _entered(depths, layer), network.variables[layer - 1]
        tensors, given = zip(*ends, strict=True)
        found = tf.gradients(tensors, [*variables, *entered], given, stop_gradients=entered)
        parts, handed = found[: len(variables)], found[len(variables) :]
        gradients.insert(0, tf.concat([tf.reshape(part, [-1]) for part in parts], 0))
        for tensor, slope in zip(entered, handed, strict=True):
            if slope is not None:
                _, later = slopes.get(tensor.name, (tensor, None))
                slopes[tensor.name] = (tensor, slope if later is None else later + slope)
        made, begun = graph.get_operations()[begun:], len(graph.get_operations())
        placement |= dict.fromkeys(_unlike_constants(made, depths, placement), 2 * count - layer)
        places.insert(0, [pair for pair in slopes.values() if depths[pair[0].op] < layer])
    return gradients, placement, places[1:]  # nothing crosses before the first layer


def _entered(depths: Operations, layer: int) -> list[Any]:
    """Return the tensors of earlier layers that the operations of `layer` read, if floats.

    Tensors that depend on the examples alone need no gradient.
    """
    read = [
        tensor
        for operation, depth in depths.items()
        if depth == layer
        for tensor in operation.inputs
        if 0 < depths.get(tensor.op, 0) < layer and tensor.dtype.is_floating
    ]
    return [*{tensor.name: tensor for tensor in read}.values()]


def _unlike_constants(made: list[Any], *known: Operations) -> list[Any]:
    """Return the operations among `made` that depend on an input of the graph."""
    varying: set[Any] = set().union(*known)
    for operation in made:
        if any(source in varying for source in _sources(operation)):
            varying.add(operation)
    return [operation for operation in made if operation in varying]


def _stages(placement: Operations, results: list[Any], count: int) -> list[Stage]:
    """Return the inputs and outputs of `count` stages, of which each computes no more than needed.

    `results` are tensors that must leave the graph.
    """
    wanted: list[dict[str, Any]] = [{} for _ in range(count)]  # outputs of each stage, by name
    for tensor in results:
        wanted[placement[tensor.op]][tensor.name] = tensor
    stages: list[Stage] = []
    for number in reversed(range(count)):  # later stages decide what earlier ones hand on
        inputs = _inputs(placement, number, wanted[number].values())
        for name, tensor in inputs.items():
            if tensor.op in placement:
                wanted[placement[tensor.op]][name] = tensor
        stages.insert(0, Stage((*inputs,), (*wanted[number],)))
    return stages


def _inputs(placement: Operations, number: int, outputs: Any) -> dict[str, Any]:
    """Return the tensors from outside that stage `number` needs for `outputs`, by name."""
    waiting, seen, inputs = [tensor.op for tensor in outputs], set(), {}
    while waiting:
        operation = waiting.pop()
        if operation in seen:
            continue
        seen.add(operation)
        for tensor in operation.inputs:
            inside = placement.get(tensor.op, number) == number or tensor.op.type == REPEATED
            if inside and tensor.op.type != "Placeholder":
                waiting.append(tensor.op)
            else:
                inputs[tensor.name] = tensor
        for before in operation.control_inputs:
            if placement.get(before, number) != number:
                raise ValueError(f"{operation.name} waits for {before.name} of another layer")
            waiting.append(before)
    return inputs
