"""The task of a Keras model: the shape of its inputs, and what its outputs answer.

A model may have several embeddings, of token ids, of positions or of a table's columns. Only the
graph says which of them the input reaches, so `reach_of` follows the input's tensor through the
operations of one traced call.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal

import tensorflow as tf

from ...models.own_model import UntrainableError
from ...models.task import Task

_SUBCLASS = "inputs = keras.Input(SHAPE); return keras.Model(inputs, model(inputs))"


def task_of(model: Any, regression: bool) -> Task:
    """Return the task of the Keras `model`. Raises UntrainableError if it fits none."""
    given = _only(getattr(model, "inputs", None), "input")
    _only(getattr(model, "outputs", None), "output")
    shape, outputs = tuple(given.shape[1:]), tuple(model.outputs[0].shape[1:])
    if not shape or None in shape:
        raise UntrainableError(
            f"its input has the shape {_written(shape)}: write each length, as keras.Input((32,))"
        )
    if given.dtype == "string":
        raise UntrainableError(
            "its input is text, and examples are numbers: begin the model with token ids, as "
            "keras.Input((32,), dtype='int32'), and give these in the data"
        )
    tokens, vocabulary = _read_as_tokens(model, given)
    texts = tokens and len(outputs) == 2 and outputs[0] == shape[0]
    inputs = _inputs(shape, tokens, texts)
    if regression:
        if len(outputs) != 1:
            raise UntrainableError(
                f"its output has the shape {_written(outputs)}: a regression has (targets,)"
            )
        return Task(inputs, shape, targets=outputs[0], vocabulary=vocabulary)
    if texts:
        return Task("texts", shape, classes=outputs[1])
    if len(outputs) != 1:
        raise UntrainableError(
            f"its output has the shape {_written(outputs)}: write (classes,), or (length, classes) "
            "for texts of which each next character is predicted"
        )
    if outputs[0] < 2:
        raise UntrainableError(
            "its output is 1 number: write an output for each class, as Dense(2) for two classes"
        )
    return Task(inputs, shape, classes=outputs[0], vocabulary=vocabulary)


def only(outputs: Any) -> Any:
    """Return the only tensor of what a model returns, also out of a list or a mapping."""
    (tensor,) = tf.nest.flatten(outputs)
    return tensor


def _only(tensors: Any, kind: str) -> Any:
    """Return the only one of `tensors`. Raises UntrainableError for none or several."""
    if not tensors:
        raise UntrainableError(
            f"the model does not say its {kind}: begin a Sequential with keras.Input(SHAPE), and "
            f"wrap a model of your own class: {_SUBCLASS}"
        )
    if len(tensors) > 1:
        raise UntrainableError(
            f"the model has {len(tensors)} {kind}s: a device's examples have one input and one "
            "answer, so write a model with one of each"
        )
    return tensors[0]


def _read_as_tokens(model: Any, given: Any) -> tuple[bool, int]:
    """Return whether the input `given` of `model` is token ids, and the number of token ids that
    the model knows, 0 if it does not say."""
    if len(given.shape) != 2:
        return False, 0
    try:
        reach = reach_of(model)
    except Exception:  # of a layer: the export of the graphs raises it again, with its line
        reach = Reach()
    tokens = reach.tokens or "int" in str(given.dtype)
    return tokens, reach.vocabulary if tokens else 0


def _inputs(
    shape: tuple[int, ...], tokens: bool, texts: bool
) -> Literal["images", "texts", "vectors", "tokens"]:
    if texts:
        return "texts"
    if tokens:
        return "tokens"
    return "vectors" if len(shape) == 1 else "images"


def _written(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


_KEPT = {"Identity", "IdentityN", "Cast", "Reshape", "ExpandDims", "Squeeze", "Transpose"} | {
    *("StopGradient", "PreventGradient", "EnsureShape", "BroadcastTo", "Tile", "Snapshot")
}
"""Operations that keep every value of their first input."""
_CUT = {"StridedSlice", "Slice", "Split", "SplitV", "Unpack"}
"""Operations that take some values out of an input."""
_JOINED = {"ConcatV2", "Pack", "SelectV2", "Select", "Pad", "PadV2", "MirrorPad"}
"""Operations that keep the values of any of their inputs."""
_WITHOUT_VALUES = {"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"} | {
    *("Sign", "Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "IsNan"),
}
"""Operations that read shapes, or compare: a mask of padding holds no token id."""
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}


class _Holds(IntEnum):
    """The contents of a tensor, seen from the model's input."""

    COMPUTED = 1
    """Numbers that are computed from the input."""
    PART = 2
    """Some of the input's numbers."""
    WHOLE = 3
    """The input's numbers, each of them."""


@dataclass
class Reach:
    """The lookups that the input of a model reaches."""

    whole: list[int] = field(default_factory=list)
    """Rows of each table in which every number of the input is looked up."""
    parts: list[int] = field(default_factory=list)
    """Rows of each table in which some numbers of the input are looked up."""
    passed: bool = False
    """Whether numbers of the input also reach the output without a lookup."""

    @property
    def tokens(self) -> bool:
        """Whether the input is token ids: each way to the output passes a lookup."""
        return bool(self.whole or self.parts) and not self.passed

    @property
    def vocabulary(self) -> int:
        """Number of token ids that every lookup of the whole input holds; 0 if it is not known.

        Of an input that is cut, each part may have a table of its own, and the largest one bounds
        the token ids.
        """
        return min(self.whole, default=max(self.parts, default=0))


def reach_of(model: Any) -> Reach:
    """Return the lookups that the only input of the Keras `model` reaches, from one traced call.

    Raises any error that a layer of the model raises.
    """
    given = model.inputs[0]
    traced = tf.function(lambda x: model(x, training=False), autograph=False)
    shape = [None, *given.shape[1:]]
    graph = traced.get_concrete_function(tf.TensorSpec(shape, given.dtype)).graph
    reach = Reach()
    outputs = _followed(graph, [_Holds.WHOLE], reach)
    reach.passed = any(outputs)
    return reach


def _followed(graph: Any, given: Sequence[_Holds | None], reach: Reach) -> list[_Holds | None]:
    """Return the contents of the outputs of `graph`, of which the first inputs hold `given`.

    Adds the lookups on the way to `reach`. Operations stand in the order in which they were made,
    so the inputs of an operation come before it.
    """
    holds: dict[Any, _Holds] = {
        tensor.ref(): content
        for tensor, content in zip(graph.inputs, given, strict=False)
        if content is not None
    }
    for operation in graph.get_operations():
        inputs = [holds.get(tensor.ref()) for tensor in operation.inputs]
        if not any(inputs):
            continue
        outputs = list(_outputs(operation, inputs, reach))
        for tensor, content in zip(operation.outputs, outputs, strict=False):
            if content is not None:
                holds[tensor.ref()] = content
    return [holds.get(tensor.ref()) for tensor in graph.outputs]


def _outputs(
    operation: Any, inputs: Sequence[_Holds | None], reach: Reach
) -> Iterator[_Holds | None]:
    """Yield the contents of the outputs of `operation`, in order; missing ones hold nothing."""
    kind, outputs = operation.type, len(operation.outputs)
    if kind in _WITHOUT_VALUES:
        return
    if kind in _CALLS:
        name = operation.get_attr("f").name
        yield from _followed(operation.graph._get_function(name).graph, inputs, reach)
        return
    if (rows := _looked_up(operation, inputs)) is not None:
        reached = inputs[0 if kind == "OneHot" else 1]
        if reached is _Holds.WHOLE:
            reach.whole += rows
        elif reached is _Holds.PART:
            reach.parts += rows
        return
    known = [content for content in inputs if content is not None]
    if kind in _KEPT and inputs[0] is not None:
        content = inputs[0]
    elif (kind in _CUT or kind.startswith("Gather")) and _Holds.COMPUTED not in known:
        content = _Holds.PART
    elif kind in _JOINED:
        content = max(known)
    else:
        content = _Holds.COMPUTED
    yield from [content] * outputs


def _looked_up(operation: Any, inputs: Sequence[_Holds | None]) -> list[int] | None:
    """Return the rows of the table in which `operation` looks up what `inputs` hold, as a list
    that is empty if they are not known; None if it is no lookup."""
    match operation.type:
        case "GatherV2" if inputs[1] is not None:
            axis = tf.get_static_value(operation.inputs[2])
            rows = None if axis is None else operation.inputs[0].shape[int(axis)]
        case "Gather" | "GatherNd" if inputs[1] is not None:
            rows = operation.inputs[0].shape[0] if operation.type == "Gather" else None
        case "ResourceGather" if inputs[1] is not None:
            rows = operation.inputs[0]._handle_data.shape_and_type[0].shape.dim[0].size
        case "OneHot" if inputs[0] is not None:
            rows = tf.get_static_value(operation.inputs[1])
        case _:
            return None
    return [] if rows is None else [int(rows)]
