"""The layers of a Keras model: their variables, kinds and order, and what training changes.

Layers are ordered by their first use in the forward pass, so that each layer stands behind the
layers that it depends on.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.python.framework.func_graph import FuncGraph

from ....layout import Kind, Layout, Variable
from ...models.own_model import KerasLayer, UntrainableError

_STATE = "seed_generator_state"
"""Name of the variable in which Keras keeps the state of a random generator."""

_CONVOLUTIONS = tuple(
    getattr(tf.keras.layers, name)
    for name in (
        *("Conv1D", "Conv2D", "Conv3D", "DepthwiseConv1D", "DepthwiseConv2D"),
        *("SeparableConv1D", "SeparableConv2D"),
        *("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"),
    )
)
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*", re.ASCII)
"""Names of layers that TensorFlow accepts as scopes of a graph."""

_NORMALIZATION = "use GroupNormalization or LayerNormalization"

_RANDOM = ("Random", "Multinomial", "TruncatedNormal", "ParameterizedTruncated", "Stateful")
"""Beginnings of the types of operations that draw from a state outside of the graph."""

_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
"""Types of operations that call a Python function, found by its number in the same process."""


@dataclass(frozen=True)
class KerasParts:
    """A Keras model as the emulator sees it."""

    layout: Layout
    places: tuple[int, ...]
    """For each trainable variable of Keras, its place among the variables of the layout."""
    constants: tuple[NDArray[Any], ...]
    """Values of the variables that are not trained."""
    generators: tuple[int, ...]
    """Places of the states of random generators among the variables that are not trained."""
    layers: tuple[KerasLayer, ...]
    activations: int
    values: NDArray[np.float32]
    """Initial weights, flat in the layout's order."""
    noisy: bool
    unstaged: str

    def state(self, noise: Any) -> list[Any]:
        """Return the variables that are not trained, with random generators seeded by `noise`."""
        return _state(self.constants, self.generators, noise)


def _state(constants: Sequence[Any], generators: Sequence[int], noise: Any) -> list[Any]:
    # generators with states of other first numbers draw independent numbers
    aside = {place: [1_000_003 * (rank + 1), 0] for rank, place in enumerate(generators)}
    return [
        noise + tf.constant(aside[place], tf.int64)
        if place in aside and noise is not None
        else tf.constant(value)
        for place, value in enumerate(constants)
    ]


def parts_of(model: Any) -> KerasParts:
    """Return the parts of the Keras `model`. Raises UntrainableError if it cannot be trained."""
    if not model.trainable_variables:
        raise UntrainableError("the model has no layer with parameters that are trained")
    _check_names(model)
    _check_values(model)
    _check_constraints(model)
    constants = tuple(np.asarray(variable) for variable in model.non_trainable_variables)
    names = [variable.path.rpartition("/")[2] for variable in model.non_trainable_variables]
    generators = tuple(place for place, name in enumerate(names) if name == _STATE)
    traced = _Trace(model, constants, generators)
    _check_state(model, traced, generators)
    owners = _owners(model)
    order = _order(model, owners, traced)
    variables, layers = _variables(model, owners, order)
    trainable = [model.trainable_variables[place] for place in order]
    flat = [np.ravel(np.asarray(v)).astype(np.float32) for v in trainable]
    return KerasParts(
        Layout(tuple(variables)),
        tuple(int(place) for place in np.argsort(order)),
        constants,
        generators,
        tuple(layers),
        sum(_outputs(layer) for layer in _leaves(model)),
        np.concatenate(flat),
        bool(generators) and traced.changed(generators),
        "it has regularizers, whose loss depends on all layers" if traced.penalties else "",
    )


class _Trace:
    """A forward pass of training, in a graph of its own."""

    def __init__(
        self, model: Any, constants: Sequence[NDArray[Any]], generators: Sequence[int]
    ) -> None:
        self.graph: Any = FuncGraph("trace")
        placeholder = tf.compat.v1.placeholder
        (given,) = model.inputs
        with self.graph.as_default():
            self.variables = [
                placeholder(v.dtype, v.shape, f"v{n}")
                for n, v in enumerate(model.trainable_variables)
            ]
            noise = placeholder(tf.int64, [2], "noise")
            self.before = _state(constants, generators, noise)
            x = placeholder(given.dtype, given.shape, "x")
            results = model.stateless_call(
                self.variables, self.before, x, training=True, return_losses=True
            )
        self.outputs, self.after, self.penalties = results

    def changed(self, places: Sequence[int]) -> bool:
        """Return whether the pass changes any of the variables at `places`."""
        return any(self.after[place] is not self.before[place] for place in places)


def _check_names(model: Any) -> None:
    """Raise UntrainableError for a layer with a name that no part of a graph can have."""
    for layer in model._flatten_layers(include_self=False, recursive=True):
        if not _NAME.fullmatch(layer.name):
            raise UntrainableError(
                f"layer {layer.name!r} has a name that TensorFlow's graphs refuse: begin it with a "
                "letter or digit, and use letters without accents, digits, '_', '.' and '-'"
            )


def _check_values(model: Any) -> None:
    """Raise UntrainableError for an initial value that is not a finite number."""
    for variable in model.variables:
        values = np.asarray(variable)
        if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
            raise UntrainableError(
                f"layer {_owner(model, variable).name!r} begins with a {variable.name!r} that is "
                "not finite: use another initializer"
            )


def _check_constraints(model: Any) -> None:
    """Raise UntrainableError for a constraint, which no update by gradients keeps."""
    for variable in model.trainable_variables:
        if getattr(variable, "constraint", None) is not None:
            raise UntrainableError(
                f"layer {_owner(model, variable).name!r} constrains {variable.name!r}, and no "
                "optimizer here keeps constraints: leave it out, or use a regularizer"
            )


def _check_state(model: Any, traced: _Trace, generators: Sequence[int]) -> None:
    """Raise UntrainableError if the pass changes a state other than those of generators."""
    for place, variable in enumerate(model.non_trainable_variables):
        if place not in generators and traced.changed([place]):
            layer = _owner(model, variable)
            kind = type(layer).__name__
            hint = f": {_NORMALIZATION}" if "Normalization" in kind else ""
            raise UntrainableError(
                f"layer {layer.name!r} ({kind}) changes {variable.name!r} in the forward pass, and "
                f"devices send nothing but gradients{hint}"
            )
    types = [operation.type for operation in traced.graph.get_operations()]
    if any(name in _PYTHON for name in types):
        raise UntrainableError(
            "the model calls a Python function (numpy_function, py_function), which no device has: "
            "use keras.ops"
        )
    drawn = [name for name in types if name.startswith(_RANDOM)]
    if drawn:
        raise UntrainableError(
            f"the model draws random numbers by {drawn[0]}, which no seed decides: use Dropout, or "
            "keras.random with a keras.random.SeedGenerator that the layer holds"
        )
    for layer in _leaves(model):
        if getattr(layer, "stateful", False):
            raise UntrainableError(
                f"layer {layer.name!r} keeps a state between mini-batches, which devices do not "
                "send: leave stateful=True out"
            )
    if any(tensor.dtype == tf.resource for tensor, _ in traced.graph.captures):
        raise UntrainableError(
            "the model reads a variable that no layer holds: make it with layer.add_weight, and "
            "random generators with keras.random.SeedGenerator in the layer"
        )


# -- layers --------------------------------------------------------------------------------------


def _leaves(model: Any) -> Iterator[Any]:
    """Yield the layers of `model` and of models inside; wrappers count as one layer."""
    for layer in model.layers:
        if isinstance(layer, tf.keras.Model):
            yield from _leaves(layer)
        else:
            yield layer


def _owners(model: Any) -> list[Any]:
    """Return the layer of each trainable variable."""
    found = {id(v): layer for layer in _leaves(model) for v in layer.trainable_variables}
    return [found.get(id(v)) or _owner(model, v) for v in model.trainable_variables]


def _owner(model: Any, variable: Any) -> Any:
    """Return the innermost layer that holds `variable`."""
    held = [
        layer
        for layer in model._flatten_layers(include_self=True, recursive=True)
        if any(own is variable for own in layer.variables)
    ]
    return min(reversed(held), key=lambda layer: len(layer.variables))  # the innermost comes last


def _order(model: Any, owners: Sequence[Any], traced: _Trace) -> list[int]:
    """Return the numbers of the trainable variables: by the first use of their layers."""
    first: dict[int, int] = {}
    numbers = {tensor.op: n for n, tensor in enumerate(traced.variables)}
    used = set()
    for operation in traced.graph.get_operations():
        for tensor in operation.inputs:
            if tensor.op in numbers:
                used.add(numbers[tensor.op])
                first.setdefault(id(owners[numbers[tensor.op]]), len(first))
    for number, variable in enumerate(model.trainable_variables):
        if number not in used:
            raise UntrainableError(
                f"{variable.name!r} of layer {owners[number].name!r} is not used: leave the layer "
                "out, or set its trainable to False"
            )
    return sorted(range(len(owners)), key=lambda number: first[id(owners[number])])


def _variables(
    model: Any, owners: Sequence[Any], order: Sequence[int]
) -> tuple[list[Variable], list[KerasLayer]]:
    """Return the variables in their `order`, and the layers."""
    named: dict[int, str] = {}
    numbers: dict[int, int] = {}
    variables, layers = [], []
    for place in order:
        variable, layer = model.trainable_variables[place], owners[place]
        if id(layer) not in named:
            named[id(layer)] = _unlike(layer.name.replace("/", "."), named.values())
            numbers[id(layer)] = len(numbers)
            parameters = sum(math.prod(v.shape) for v in layer.trainable_variables)
            kind = type(layer).__name__
            layers.append(KerasLayer(named[id(layer)], kind, parameters, _outputs(layer)))
        inside = _inside(variable.path, layer.name)
        name = f"{named[id(layer)]}/{inside}"
        kind_of = _kind(_owner(model, variable), variable)
        variables.append(Variable(name, tuple(variable.shape), kind_of, numbers[id(layer)]))
    return variables, layers


def _unlike(name: str, others: Any) -> str:
    """Return `name`; if `others` contains `name`, the first free of `name.2`, `name.3`, …"""
    taken, made, number = set(others), name, 2
    while made in taken:
        made, number = f"{name}.{number}", number + 1
    return made


def _inside(path: str, layer: str) -> str:
    """Return the part of a variable's `path` inside its `layer`."""
    _, found, rest = path.partition(f"{layer}/")
    return rest if found else path.rpartition("/")[2]


def _kind(layer: Any, variable: Any) -> Kind:
    """Return the kind of `variable` of `layer`."""
    if "bias" in variable.name or len(variable.shape) < 2:
        return "bias"  # scales and shifts of a normalization, too
    if isinstance(layer, _CONVOLUTIONS):
        return "conv"
    if isinstance(layer, tf.keras.layers.Embedding):
        return "embedding"
    recurrent = "Cell" in type(layer).__name__ or isinstance(layer, tf.keras.layers.RNN)
    return "recurrent" if recurrent else "dense"


def _outputs(layer: Any) -> int:
    """Return the numbers that `layer` puts out for one example; 0 if they are not known."""
    try:
        shapes = [tensor.shape for tensor in tf.nest.flatten(layer.output)]
        return sum(math.prod(shape[1:]) for shape in shapes)
    except (AttributeError, TypeError, ValueError):
        return 0
