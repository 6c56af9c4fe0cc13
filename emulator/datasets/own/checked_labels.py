"""Checks of labels, and their conversion to numbers of classes or targets of a regression."""

from typing import Any, NamedTuple

import numpy as np

from ..examples import Array
from .checked_inputs import described, narrowest
from .data_mistakes import DataMistakes
from .own_dataset import OwnDataset
from .read_data import GivenPart, ReadData

_LARGEST = 2**31 - 2
"""Largest number of a class: classes are stored as int32, and so is their number."""


class StoredLabels(NamedTuple):
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


def check_labels(
    own: OwnDataset, data: ReadData, parts: list[GivenPart], mistakes: DataMistakes
) -> StoredLabels | None:
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


# -- regression ----------------------------------------------------------------------------------


def _targets(
    own: OwnDataset, parts: list[GivenPart], mistakes: DataMistakes
) -> StoredLabels | None:
    if own.classes is not None:
        place = parts[0].places.label()
        mistakes.add(place, "holds targets of a regression, which has no classes: leave them out")
    columns = _columns(parts[0].labels)
    arrays = []
    for part in parts:
        labels, place = part.labels, part.places.label()
        if labels.dtype.kind not in "buif" or labels.ndim > 2 or not labels.size:
            found = f"holds {described(labels)} of shape {list(labels.shape)}"
            mistakes.add(place, f"{found}: numbers [examples] or [examples, targets] were expected")
            continue
        if _columns(labels) != columns:
            mistakes.add(place, f"has {_columns(labels)} targets, and the training set {columns}")
            continue
        with np.errstate(over="ignore"):
            stored = labels.astype(np.float32).reshape(len(labels), -1)
        _note(part, (~np.isfinite(stored)).any(1), "a finite number was expected", mistakes)
        arrays.append(stored)
    if mistakes:
        return None
    return StoredLabels(arrays, 0, (), "" if own.task else _classes_note(arrays[0]))


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


# -- classes -------------------------------------------------------------------------------------


def _named_classes(
    own: OwnDataset, parts: list[GivenPart], mistakes: DataMistakes
) -> StoredLabels | None:
    """Number the classes in the order of their names in the training set."""
    texts = [part.labels.reshape(len(part.labels), -1) for part in parts]
    for part, labels in zip(parts, texts, strict=True):
        if labels.shape[1] != 1:
            mistakes.add(part.places.label(), f"has {labels.shape[1]} names of classes an example")
        else:
            none = np.array([not isinstance(name, str) or not name for name in labels[:, 0]], bool)
            _note(part, none, "the name of a class was expected", mistakes)
    if mistakes:
        return None
    names = sorted(set(texts[0][:, 0].tolist()))
    number = {name: index for index, name in enumerate(names)}
    arrays = []
    for part, labels in zip(parts, texts, strict=True):
        numbers = np.array([number.get(name, -1) for name in labels[:, 0].tolist()], np.int64)
        _note(part, numbers < 0, "the training set has no example of this class", mistakes)
        arrays.append(numbers)
    _check_number(own, parts[0], len(names), mistakes)
    classes = max(own.classes or 0, len(names))
    stored = [array.astype(narrowest(classes)) for array in arrays]
    return None if mistakes else StoredLabels(stored, classes, tuple(names))


def _numbered_classes(
    own: OwnDataset, data: ReadData, parts: list[GivenPart], mistakes: DataMistakes
) -> StoredLabels | None:
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
            _note(part, beyond, f"a class is a whole number from 0 to {classes - 1}", mistakes)
        else:
            message = f"the training set has the classes 0 to {classes - 1}"
            _note(part, beyond, message, mistakes)
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
        _check_number(own, parts[0], classes, mistakes)
    stored = [array.astype(narrowest(classes)) for array in arrays]
    return None if mistakes else StoredLabels(stored, classes, names)


def _whole_numbers(part: GivenPart, mistakes: DataMistakes) -> Array | None:
    """Return the labels of `part` as whole numbers from 0 up; None after a mistake."""
    labels, place = part.labels, part.places.label()
    if labels.ndim > 1 and labels.shape[1:] == (1,):
        labels = labels[:, 0]
    if labels.dtype.kind not in "buif":
        mistakes.add(place, f"holds {described(labels)}: numbers of classes were expected")
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
    _note(part, strange, "a class is a whole number from 0 up", mistakes)
    _note(part, beyond & ~strange, f"the largest number of a class is {_LARGEST:,}", mistakes)
    return None if (strange | beyond).any() else labels.astype(np.int64)


def _labels_each_token(part: GivenPart) -> bool:
    """Return whether every token id of an example has a label, as in texts."""
    equal = part.labels.ndim == 2 and part.labels.shape == part.inputs.shape
    return equal and part.inputs.dtype.kind in "ui"


def _check_number(own: OwnDataset, part: GivenPart, found: int, mistakes: DataMistakes) -> None:
    place = part.places.label()
    if own.classes is not None and found > own.classes:
        mistakes.add(place, f"has {found} classes, and `classes` is {own.classes}")
    elif own.classes is None and found < 2:
        mistakes.add(place, "has a single class: there is nothing to tell apart")


def _note(part: GivenPart, strange: Any, expected: str, mistakes: DataMistakes) -> None:
    """Note the label of each example that is `strange`."""
    rows = np.flatnonzero(strange).tolist()
    mistakes.add_each(
        rows, part.places.label, lambda row: f"is {_shown(part.labels[row])}: {expected}"
    )


def _shown(label: object) -> str:
    text = str(label.tolist() if isinstance(label, np.generic | np.ndarray) else label)
    return text if len(text) <= 60 else f"{text[:60]}…"
