"""Checks of data of one's own: inputs, labels and owners, in the types in which they are stored."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .... import chance
from ...models.task import Task
from ..examples import Array, Examples
from .data_mistakes import DataMistakes, Place
from .own_dataset import Kind, OwnDataset
from .read_data import GivenPart, ReadData

_TEST = 0.2
"""Share of the examples for the test, if neither the data nor the scenario says otherwise."""
_AXES = {"images": (3, 4), "vectors": (2,), "tokens": (2,)}
"""Numbers of axes of the inputs of each kind, with that of the examples."""
_SHAPES = {
    "images": "[examples, height, width] or [examples, height, width, channels]",
    "vectors": "[examples, numbers]",
    "tokens": "[examples, length]",
}
_MOST_TOKENS = 1 << 24
"""Largest vocabulary: float32, the type of inputs of models, holds smaller token ids exactly."""
_BRIGHTEST = 255
_LARGEST = 2**31 - 2
"""Largest number of a class: classes are stored as int32, and so is their number."""


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


class _Inputs(NamedTuple):
    """Inputs of both parts in the type of storage, with the shape of an input."""

    kind: Kind
    arrays: list[Array]
    scale: int
    vocabulary: int
    note: str = ""
    """Doubt about the scale of images, with its remedy; empty without."""

    def task(self, *, classes: int = 0, targets: int = 0, texts: bool = False) -> Task:
        """Return the task of these inputs with `classes` or `targets`.

        `texts`: each token id has a label of its own.
        """
        shape = self.arrays[0].shape[1:]
        if texts:
            return Task("texts", shape, classes=max(classes, self.vocabulary))
        return Task(self.kind, shape, classes, targets, self.vocabulary)


class _Labels(NamedTuple):
    """Labels of both parts in the type of storage."""

    arrays: list[Array]
    classes: int
    """Number of classes; 0 for a regression."""
    class_names: tuple[str, ...]
    """Names of the classes; empty if they are numbers."""
    note: str = ""
    """Doubt about the task, with its remedy; empty without."""

    @property
    def targets(self) -> int:
        """Targets of a regression; 0 for classes."""
        return 0 if self.classes else self.arrays[0].shape[1]


def checked(own: OwnDataset, data: ReadData) -> CheckedData:
    """Return the examples of `data`. Raises OwnDataError with every mistake in their values."""
    mistakes = DataMistakes()
    parts = [data.train] if data.test is None else [data.train, data.test]
    for part in parts:
        _check_number(part, mistakes)
    owners = _owners(data, mistakes)
    mistakes.require_none()
    inputs_mistakes, labels_mistakes = DataMistakes(), DataMistakes()
    inputs = _inputs(own, data.kind, parts, inputs_mistakes)
    labels = _labels(own, data, parts, labels_mistakes)
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
    inputs: _Inputs,
    labels: _Labels,
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


# -- inputs ----------------------------------------------------------------------------------------


def _inputs(
    own: OwnDataset, default: Kind | None, parts: list[GivenPart], mistakes: DataMistakes
) -> _Inputs | None:
    """Return the inputs of `parts`, the training set first; None after a mistake.

    `default` is the kind of inputs of which the scenario does not say another.
    """
    numeric = [_is_numeric(part, mistakes) for part in parts]
    if not all(numeric):
        return None
    kind = own.inputs or default or _kind(parts[0])
    fitting = [_has_shape(kind, part, parts[0], mistakes) for part in parts]
    if not all(fitting):
        return None
    whole = all(part.inputs.dtype.kind in "bui" for part in parts)
    if kind == "tokens":
        return _tokens(own, parts, mistakes)
    if kind == "images" and whole:
        return _levels(own, parts, mistakes)
    arrays = [_floats(part, mistakes) for part in parts]
    if mistakes:
        return None
    note = _float_images_note(parts[0]) if kind == "images" and own.scale is None else ""
    return _Inputs(kind, arrays, own.scale or 1, 0, note)


def _is_numeric(part: GivenPart, mistakes: DataMistakes) -> bool:
    dtype, place = part.inputs.dtype, part.places.input()
    if dtype.kind in "buif":
        return True
    mistakes.add(place, f"holds {_described(part.inputs)}: numbers were expected")
    return False


def _described(array: Array) -> str:
    """Return the type of `array` in words."""
    words = {"U": "text", "S": "text", "O": "objects", "T": "text", "c": "complex numbers"}
    return words.get(array.dtype.kind, str(array.dtype))


def _kind(part: GivenPart) -> Kind:
    """Return the kind of inputs of an array without a word from the scenario."""
    if part.inputs.ndim > 2:
        return "images"
    return "tokens" if part.inputs.dtype.kind in "ui" else "vectors"


def _has_shape(kind: Kind, part: GivenPart, train: GivenPart, mistakes: DataMistakes) -> bool:
    """Note a mistake unless `part` has inputs of `kind`, of the shape of those in `train`."""
    shape, place = part.inputs.shape, part.places.input()
    if len(shape) not in _AXES[kind]:
        mistakes.add(place, f"has shape {list(shape)}: {kind} have {_SHAPES[kind]}")
    elif 0 in shape[1:]:
        mistakes.add(place, f"has shape {list(shape)}: an input without a number")
    elif shape[1:] != train.inputs.shape[1:]:
        ours, theirs = list(shape[1:]), list(train.inputs.shape[1:])
        mistakes.add(place, f"has inputs of shape {ours}, and the training set has {theirs}")
    else:
        return True
    return False


def _tokens(own: OwnDataset, parts: list[GivenPart], mistakes: DataMistakes) -> _Inputs | None:
    most = own.vocabulary or _MOST_TOKENS
    for part in parts:
        inputs = part.inputs
        with np.errstate(invalid="ignore", over="ignore"):
            strange = (inputs != np.floor(inputs)) | (inputs < 0) | (inputs >= most)
        _note_values(
            part, strange, f"a token id is a whole number from 0 to {most - 1:,}", mistakes
        )
    if mistakes:
        return None
    known = own.vocabulary or 1 + max(int(part.inputs.max()) for part in parts)
    arrays = [part.inputs.astype(_narrowest(known)) for part in parts]
    return _Inputs("tokens", arrays, own.scale or 1, known)


def _levels(own: OwnDataset, parts: list[GivenPart], mistakes: DataMistakes) -> _Inputs | None:
    brightest = max(own.scale or 0, _BRIGHTEST)
    message = f"images of whole numbers have levels from 0 to {brightest}"
    if own.scale is None:
        message += ", or to `scale`: write `scale: 65535` for images of 16 bits"
    for part in parts:
        strange = (part.inputs < 0) | (part.inputs > brightest)
        _note_values(part, strange, message, mistakes)
    if mistakes:
        return None
    boolean = parts[0].inputs.dtype.kind == "b"
    arrays = [part.inputs.astype(_narrowest(brightest + 1)) for part in parts]
    scale, note = own.scale or (1 if boolean else _BRIGHTEST), ""
    found = int(parts[0].inputs.max())
    if own.scale is None and not boolean and 0 < found <= _BRIGHTEST // 4:
        note = (
            f"the brightest level of an image is {found}, and levels are divided by {scale}: if "
            f"{found} is white, write `scale: {found}`"
        )
    return _Inputs("images", arrays, scale, 0, note)


def _float_images_note(train: GivenPart) -> str:
    """Return a doubt about images that were not divided by their brightest level, else nothing."""
    least, most = float(train.inputs.min()), float(train.inputs.max())
    if least < 0 or most <= 2:  # standardized, or in [0, 1] but for some rounding
        return ""
    white = 65535 if most > _BRIGHTEST else _BRIGHTEST
    return (
        f"pixels are from {least:g} to {most:g}, and models expect 0 to 1: write `scale: {white}` "
        f"to divide them, or `scale: 1` to keep them"
    )


def _floats(part: GivenPart, mistakes: DataMistakes) -> Array:
    with np.errstate(over="ignore"):
        stored = part.inputs.astype(np.float32)
    _note_values(part, ~np.isfinite(stored), "a finite number was expected", mistakes)
    return stored


def _note_values(part: GivenPart, strange: Array, expected: str, mistakes: DataMistakes) -> None:
    """Note the first wrong value of each example with values that are `strange`."""
    flat = strange.reshape(len(strange), -1)
    (rows,) = np.nonzero(flat.any(1))
    values = part.inputs.reshape(len(strange), -1)

    def place(row: int) -> Place:
        return part.places.input(row, int(flat[row].argmax()))

    def message(row: int) -> str:
        return f"is {values[row][flat[row].argmax()]}: {expected}"

    mistakes.add_each(rows.tolist(), place, message)


def _narrowest(count: int) -> type[np.uint8] | type[np.uint16] | type[np.int32]:
    """Return the narrowest type of the whole numbers from 0 to `count` - 1."""
    if count <= 1 << 8:
        return np.uint8
    return np.uint16 if count <= 1 << 16 else np.int32


# -- labels ----------------------------------------------------------------------------------------


def _labels(
    own: OwnDataset, data: ReadData, parts: list[GivenPart], mistakes: DataMistakes
) -> _Labels | None:
    """Return the labels of `parts`, the training set first; None after a mistake."""
    kinds = [part.labels.dtype.kind for part in parts]
    if own.task is None and _is_one_hot(parts[0].labels):
        mistakes.add(
            parts[0].places.label(),
            "is one-hot: store the numbers of the classes, `argmax(1)`; if it is a regression, "
            "write `task: regression`",
        )
        return None
    if own.task == "regression" or (own.task is None and kinds[0] == "f"):
        return _targets(own, parts, mistakes)
    if all(kind in "UTO" for kind in kinds):
        return _named_classes(own, parts, mistakes)
    return _numbered_classes(own, data, parts, mistakes)


def _is_one_hot(labels: Array) -> bool:
    """Return whether `labels` have a decimal point, and a single 1 among zeros in each row."""
    if labels.dtype.kind != "f" or labels.ndim != 2 or labels.shape[1] < 2:
        return False
    return bool(np.isin(labels, (0, 1)).all() and (labels.sum(1) == 1).all())


def _targets(own: OwnDataset, parts: list[GivenPart], mistakes: DataMistakes) -> _Labels | None:
    if own.classes is not None:
        place = parts[0].places.label()
        mistakes.add(place, "holds targets of a regression, which has no classes: leave them out")
    columns = _columns(parts[0].labels)
    arrays = []
    for part in parts:
        labels, place = part.labels, part.places.label()
        if labels.dtype.kind not in "buif" or labels.ndim > 2 or not labels.size:
            found = f"holds {_described(labels)} of shape {list(labels.shape)}"
            mistakes.add(place, f"{found}: numbers [examples] or [examples, targets] were expected")
            continue
        if _columns(labels) != columns:
            mistakes.add(place, f"has {_columns(labels)} targets, and the training set {columns}")
            continue
        with np.errstate(over="ignore"):
            stored = labels.astype(np.float32).reshape(len(labels), -1)
        _note_labels(part, (~np.isfinite(stored)).any(1), "a finite number was expected", mistakes)
        arrays.append(stored)
    if mistakes:
        return None
    return _Labels(arrays, 0, (), "" if own.task else _classes_note(arrays[0]))


def _classes_note(targets: Array) -> str:
    """Return a doubt about `targets` that look like the numbers of classes, else nothing."""
    if targets.shape[1] != 1 or (targets != np.floor(targets)).any():
        return ""
    found = np.unique(targets)
    most = int(found[-1])
    # classes from 0 (or 1) up, almost all present, and each seen several times
    repeated = len(found) > 1 and 2 * len(found) <= len(targets)
    if found[0] not in (0, 1) or most > 2 * len(found) or not repeated:
        return ""
    renumbered = "number them from 0, and " if found[0] else ""
    return (
        f"the targets are whole numbers from {int(found[0])} to {most} with a decimal point, and "
        f"are learnt as numbers: if these are classes, {renumbered}write `task: classification`; "
        "if not, `task: regression`"
    )


def _columns(labels: Array) -> int:
    return labels.shape[1] if labels.ndim > 1 else 1


def _named_classes(
    own: OwnDataset, parts: list[GivenPart], mistakes: DataMistakes
) -> _Labels | None:
    """Number the classes in the order of their names in the training set."""
    texts = [part.labels.reshape(len(part.labels), -1) for part in parts]
    for part, labels in zip(parts, texts, strict=True):
        if labels.shape[1] != 1:
            mistakes.add(part.places.label(), f"has {labels.shape[1]} names of classes an example")
        else:
            none = np.array([not isinstance(name, str) or not name for name in labels[:, 0]], bool)
            _note_labels(part, none, "the name of a class was expected", mistakes)
    if mistakes:
        return None
    names = sorted(set(texts[0][:, 0].tolist()))
    number = {name: index for index, name in enumerate(names)}
    arrays = []
    for part, labels in zip(parts, texts, strict=True):
        numbers = np.array([number.get(name, -1) for name in labels[:, 0].tolist()], np.int64)
        _note_labels(part, numbers < 0, "the training set has no example of this class", mistakes)
        arrays.append(numbers)
    _check_classes(own, parts[0], len(names), mistakes)
    classes = max(own.classes or 0, len(names))
    stored = [array.astype(_narrowest(classes)) for array in arrays]
    return None if mistakes else _Labels(stored, classes, tuple(names))


def _numbered_classes(
    own: OwnDataset, data: ReadData, parts: list[GivenPart], mistakes: DataMistakes
) -> _Labels | None:
    whole = [_whole_numbers(part, mistakes) for part in parts]
    arrays = [array for array in whole if array is not None]
    if len(arrays) < len(parts):
        return None
    names = data.class_names
    most = int(arrays[0].max()) + 1
    classes = own.classes or len(names) or most
    for part, array in zip(parts, arrays, strict=True):
        beyond = (array.reshape(len(array), -1) >= classes).any(1)
        if part is parts[0] or own.classes or names:
            _note_labels(
                part, beyond, f"a class is a whole number from 0 to {classes - 1}", mistakes
            )
        else:
            message = f"the training set has the classes 0 to {classes - 1}"
            _note_labels(part, beyond, message, mistakes)
    if not mistakes and own.classes is None:
        present = np.unique(arrays[0])
        missing = classes - present.size
        if missing and arrays[0].ndim == 1:
            first = np.setdiff1d(np.arange(present.size + min(missing, 3)), present)[:3]
            which = ", ".join(map(str, first)) + (" …" if missing > 3 else "")
            mistakes.add(
                parts[0].places.label(),
                f"has no example of {missing} of the classes 0 to {classes - 1} ({which}): "
                f"number the classes from 0, or write `classes: {classes}`",
            )
        _check_classes(own, parts[0], classes, mistakes)
    stored = [array.astype(_narrowest(classes)) for array in arrays]
    return None if mistakes else _Labels(stored, classes, names)


def _whole_numbers(part: GivenPart, mistakes: DataMistakes) -> Array | None:
    """Return the labels of `part` as whole numbers from 0 up; None after a mistake."""
    labels, place = part.labels, part.places.label()
    if labels.ndim > 1 and labels.shape[1:] == (1,):
        labels = labels[:, 0]
    if labels.dtype.kind not in "buif":
        mistakes.add(place, f"holds {_described(labels)}: numbers of classes were expected")
        return None
    if labels.ndim > 1 and not _labels_each_token(part):
        mistakes.add(
            place,
            f"has shape {list(labels.shape)}, and a class for each example was expected: if it is "
            "one-hot, store `argmax(1)`; if it is a regression, write `task: regression`",
        )
        return None
    with np.errstate(invalid="ignore", over="ignore"):  # half precision ends at 65,504
        wrong = (labels != np.floor(labels)) | (labels < 0)
        strange = wrong.reshape(len(labels), -1).any(1)
        beyond = (labels > _LARGEST).reshape(len(labels), -1).any(1)
    _note_labels(part, strange, "a class is a whole number from 0 up", mistakes)
    _note_labels(
        part, beyond & ~strange, f"the largest number of a class is {_LARGEST:,}", mistakes
    )
    return None if (strange | beyond).any() else labels.astype(np.int64)


def _labels_each_token(part: GivenPart) -> bool:
    """Return whether every token id of an example has a label, as in texts."""
    equal = part.labels.ndim == 2 and part.labels.shape == part.inputs.shape
    return equal and part.inputs.dtype.kind in "ui"


def _check_classes(own: OwnDataset, part: GivenPart, found: int, mistakes: DataMistakes) -> None:
    place = part.places.label()
    if own.classes is not None and found > own.classes:
        mistakes.add(place, f"has {found} classes, and `classes` is {own.classes}")
    elif own.classes is None and found < 2:
        mistakes.add(place, "has a single class: there is nothing to tell apart")


def _note_labels(part: GivenPart, strange: Any, expected: str, mistakes: DataMistakes) -> None:
    """Note the label of each example that is `strange`."""
    rows = np.flatnonzero(strange).tolist()
    mistakes.add_each(
        rows, part.places.label, lambda row: f"is {_shown(part.labels[row])}: {expected}"
    )


def _shown(label: object) -> str:
    text = str(label.tolist() if isinstance(label, np.generic | np.ndarray) else label)
    return text if len(text) <= 60 else f"{text[:60]}…"
