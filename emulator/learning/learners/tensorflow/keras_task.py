"""The task of a Keras model: the shape of its inputs, and what its outputs answer."""

from typing import Any, Literal

import tensorflow as tf

from ...models.own_model import UntrainableError
from ...models.task import Task
from .keras_inputs import Reach, reach_of

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
