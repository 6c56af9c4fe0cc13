"""Export of an own Keras model: its graphs, its description, and its initial weights.

`python -m emulator.learning.learners.tensorflow.keras_export` reads a request as JSON from
standard input, and writes what is wrong with the model, or null, as JSON to standard output.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from .... import chance
from ....errors import PythonFileError
from ....layout import Layout
from ....plugins import own_process
from ....plugins.python_file import Reference
from ...models import saved_model
from ...models.own_model import (
    DESCRIPTION,
    KerasRequest,
    ModelSource,
    OwnModel,
    UntrainableError,
    computed_by_keras,
    drawn_by_keras,
)
from ...models.task import Task
from .graph_export import export
from .keras_layers import KerasParts, parts_of
from .keras_task import only, task_of
from .losses import logits_of, losses_of
from .networks import TFNetwork
from .staged_export import Staged


def export_own(request: KerasRequest, reference: Reference) -> None:
    """Fill the folder of `request`, or add the initial weights of its seed.

    Raises PythonFileError if the model of `reference` cannot be trained.
    """
    folder, seed = Path(request.folder), request.seed
    if not request.weights_only:
        folder.mkdir()
        model = _exported(request, reference)
        (folder / DESCRIPTION).write_text(json.dumps(model.plain(), indent=1), encoding="utf-8")
    with _traced(reference):
        parts = parts_of(_built(reference, seed))
    _same(parts.layout, OwnModel.read(folder).layout)
    _write_weights(folder, seed, parts.values)


def save_weights(request: KerasRequest, reference: Reference) -> None:
    """Set the trained parameters in the model of `reference`, and have Keras save its weights."""
    made = _built(reference, request.seed)
    parts = parts_of(made)
    theta = saved_model.read(Path(request.trained), parts.layout).theta
    for variable, place in zip(made.trainable_variables, parts.places, strict=True):
        begin, end = parts.layout.bounds[place]
        variable.assign(theta[begin:end].reshape(variable.shape))
    made.save_weights(request.folder)


def _exported(request: KerasRequest, reference: Reference) -> OwnModel:
    """Write the graphs of the model of `reference`, and return its description.

    The graphs are of seed 0, so that their constants do not depend on the seed that came first.
    """
    made = _built(reference, 0)
    with _traced(reference):
        task = task_of(made, request.origin.regression)
        parts = parts_of(made)
    network = _network(request, made, task, parts)
    with _traced(reference):
        forward = export(network, Path(request.folder))
    return replace(_described(request, network, parts, forward), compiled=compiled_with(made))


def _built(reference: Reference, seed: int) -> Any:
    """Return the Keras model of `reference`, with the initial weights of `seed`."""
    function = reference.load()
    if isinstance(function, tf.keras.Model) or not callable(function):
        kind = type(function).__name__
        raise _refusal(
            reference, f"{reference.name!r} is a {kind}: write a function that returns a model"
        )
    tf.keras.backend.clear_session()  # names of layers count from the first one
    tf.keras.utils.set_random_seed(chance.keras_seed(seed))
    try:
        with reference.blamed():
            made = function()
    except PythonFileError as error:
        if error.mistakes[0]["line"] is not None:
            raise
        raise _refusal(reference, error.mistakes[0]["message"]) from error
    if not isinstance(made, tf.keras.Model):
        raise _refusal(reference, f"{reference.name}() returns {_kind(made)}, not a tf.keras.Model")
    return made


@contextmanager
def _traced(reference: Reference) -> Iterator[None]:
    """Blame the file of `reference` for errors in a layer or loss of the file, for no others."""
    try:
        with reference.blamed():
            yield
    except UntrainableError:
        raise
    except PythonFileError as error:
        if error.mistakes[0]["line"] is None and error.__cause__ is not None:
            raise error.__cause__ from None
        raise


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _refusal(reference: Reference, message: str) -> PythonFileError:
    """Return the error with the line at which the function of `reference` begins."""
    code = getattr(reference.load(), "__code__", None)
    return PythonFileError(reference.file, code and code.co_firstlineno, message)


def _network(request: KerasRequest, made: Any, task: Task, parts: KerasParts) -> TFNetwork:
    """Return the network of the Keras model `made`."""
    logits = logits_of(request.origin.loss, made, task)

    def call(variables: Sequence[Any], x: Any, noise: Any, training: bool) -> Any:
        given = [variables[place] for place in parts.places]
        state = parts.state(noise)
        x = tf.cast(tf.reshape(x, [-1, *made.inputs[0].shape[1:]]), made.inputs[0].dtype)
        results = made.stateless_call(given, state, x, training=training, return_losses=True)
        outputs, after, penalties = results
        answers = logits(tf.cast(only(outputs), tf.float32))
        return answers, after, [p for p in penalties if p is not None]

    def trained(variables: Sequence[Any], x: Any, *noise: Any) -> tuple[Any, Sequence[Any]]:
        outputs, _, penalties = call(variables, x, noise[0] if noise else None, True)
        return outputs, penalties

    def evaluated(variables: Sequence[Any], x: Any) -> Any:
        return call(variables, x, None, False)[0]

    return TFNetwork(
        request.name,
        parts.layout,
        task,
        trained,
        evaluated,
        losses_of(request.origin.loss),
        noisy=parts.noisy,
        unstaged=parts.unstaged,
    )


def _described(
    request: KerasRequest, network: TFNetwork, parts: KerasParts, forward: Staged | str
) -> OwnModel:
    """Return the description of `network`."""
    unstaged = forward if isinstance(forward, str) else ""
    behind = [] if isinstance(forward, str) else forward.crossings[:-1]
    uncut = {number: place.refusal for number, place in enumerate(behind, 1) if place.refusal}
    if network.noisy:
        reason = "its layers draw random numbers, as Dropout does"
        uncut = dict.fromkeys(range(1, len(behind) + 1), reason)
    return OwnModel(
        name=request.name,
        origin=request.origin,
        task=network.task,
        layout=network.layout,
        draw=drawn_by_keras,
        logits=computed_by_keras,
        crossings=tuple(place.size for place in behind),
        layers=parts.layers,
        activations=parts.activations,
        noisy=network.noisy,
        uncut=uncut,
        unstaged=unstaged,
    )


def compiled_with(made: Any) -> str:
    """Return loss and optimizer that the Keras model `made` was compiled with; empty without."""
    if not made.compiled:
        return ""
    given = {"loss": made.loss, "optimizer": made.optimizer}
    return ", ".join(f"{key} {_title(value)}" for key, value in given.items() if value is not None)


def _title(part: Any) -> str:
    """Return the name by which a person knows a loss or an optimizer of Keras."""
    if isinstance(part, str):
        return part
    return str(getattr(part, "__name__", type(part).__name__))


def _same(found: Layout, expected: Layout) -> None:
    """Raise UntrainableError unless the function returns the same layers each time."""
    if found != expected:
        raise UntrainableError("returns another model each time that it is called")


def _write_weights(folder: Path, seed: int, values: np.ndarray[Any, Any]) -> None:
    """Write the initial weights; a reader sees the whole file or none."""
    file = folder / f"initial-{seed}.npy"
    part = folder / f".{file.name}.{os.getpid()}"
    with part.open("wb") as sink:
        np.save(sink, values)
    part.replace(file)


def _request(plain: dict[str, Any]) -> KerasRequest:
    return KerasRequest(**{**plain, "origin": ModelSource(**plain["origin"])})


def main() -> None:
    request = _request(json.load(sys.stdin))
    answers = own_process.begin()  # the user's file may print
    reference, refusal = Reference.read(request.origin.reference, "/"), None
    try:
        (save_weights if request.trained else export_own)(request, reference)
    except UntrainableError as error:
        refusal = _refusal(reference, f"{reference.name}(): {error}").mistakes[0]
    except PythonFileError as error:
        refusal = error.mistakes[0]
    print(json.dumps(refusal), file=answers, flush=True)


if __name__ == "__main__":
    main()
