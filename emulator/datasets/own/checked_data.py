"""Data of one's own, checked as a whole: two sets of examples of one task, and their owners."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import chance
from ...models.task import Task
from ..examples import Array, Examples
from .checked_inputs import StoredInputs, check_inputs
from .checked_labels import StoredLabels, check_labels
from .data_mistakes import DataMistakes
from .own_dataset import OwnDataset
from .read_data import GivenPart, ReadData

_TEST = 0.2
"""Share of the examples for the test, if neither the data nor the scenario says otherwise."""


@dataclass(frozen=True)
class CheckedData:
    """Examples for training and for the test, ready to be stored."""

    task: Task
    train: Examples
    test: Examples
    class_names: tuple[str, ...]
    owners: NDArray[np.str_] | None
    """Owner of each training example; None if the data set names no owners."""
    rows: NDArray[np.int64] | None
    """Position in the source of each training example; None if the source has a test set."""
    notes: tuple[str, ...] = ()
    """Doubts about how the data was understood, each with its remedy."""


def checked(own: OwnDataset, data: ReadData) -> CheckedData:
    """Return the examples of `data`. Raises OwnDataError with every mistake in their values."""
    mistakes = DataMistakes()
    parts = [data.train] if data.test is None else [data.train, data.test]
    for part in parts:
        _check_number(part, mistakes)
    owners = _owners(data, mistakes)
    mistakes.require_none()
    inputs_mistakes, labels_mistakes = DataMistakes(), DataMistakes()
    inputs = check_inputs(own, data.kind, parts, inputs_mistakes)
    labels = check_labels(own, data, parts, labels_mistakes)
    mistakes.extend([*inputs_mistakes, *labels_mistakes])
    mistakes.require_none()
    assert inputs is not None and labels is not None
    return _stored(own, data, inputs, labels, owners)


def _check_number(part: GivenPart, mistakes: DataMistakes) -> None:
    """Note a mistake unless `part` has examples, and a label for each."""
    for array, place in ((part.inputs, part.places.input()), (part.labels, part.places.label())):
        if not array.ndim:
            mistakes.add(place, "is a single value: an array of examples was expected")
    if mistakes:
        return
    inputs, labels = len(part.inputs), len(part.labels)
    if inputs != labels:
        mistakes.add(part.places.label(), f"has {labels:,} labels for {inputs:,} inputs")
    elif not inputs:
        mistakes.add(part.places.input(), "has no example")


def _owners(data: ReadData, mistakes: DataMistakes) -> NDArray[np.str_] | None:
    """Return the owners of the training examples as text."""
    if data.owners is None:
        return None
    names, at = data.owners
    if names.shape != (len(data.train.inputs),):
        mistakes.add(
            at(None),
            f"has shape {list(names.shape)}, and an owner for each of the "
            f"{len(data.train.inputs):,} training examples was expected",
        )
        return None
    missing = [
        row
        for row, owner in enumerate(names.tolist())
        if owner is None or owner == "" or owner != owner  # NaN differs from itself
    ]
    mistakes.add_each(missing, at, lambda row: "is empty: an owner was expected")
    return names.astype(np.str_)


def _stored(
    own: OwnDataset,
    data: ReadData,
    inputs: StoredInputs,
    labels: StoredLabels,
    owners: NDArray[np.str_] | None,
) -> CheckedData:
    notes = tuple(note for note in (inputs.note, labels.note) if note)
    texts = bool(labels.classes) and labels.arrays[0].ndim > 1
    task = inputs.task(classes=labels.classes, targets=labels.targets, texts=texts)
    train = Examples(inputs.arrays[0], labels.arrays[0], inputs.scale)
    if data.test is not None:
        test = Examples(inputs.arrays[1], labels.arrays[1], inputs.scale)
        return CheckedData(task, train, test, labels.class_names, owners, None, notes)
    kept, held_out = _held_out(own, data.train)
    own_rows = owners[kept] if owners is not None else None
    return CheckedData(
        task, train.take(kept), train.take(held_out), labels.class_names, own_rows, kept, notes
    )


def _held_out(own: OwnDataset, train: GivenPart) -> tuple[Array, Array]:
    """Return the positions of the examples to train on, and of those for the test, in order.

    The draw depends on the number of examples alone.
    """
    examples = len(train.inputs)
    if examples < 2:
        mistakes = DataMistakes()
        mistakes.add(train.places.input(), "has a single example, which leaves none for the test")
        mistakes.require_none()
    share = _TEST if own.test is None else float(own.test)
    size = min(max(1, round(share * examples)), examples - 1)
    order = chance.stream(chance.held_out(examples)).permutation(examples)
    return np.sort(order[size:]), np.sort(order[:size])
