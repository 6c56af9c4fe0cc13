"""Checks of inputs, and their conversion to the types in which examples are stored."""

from typing import NamedTuple

import numpy as np

from ...models.task import Task
from ..examples import Array
from .data_mistakes import DataMistakes, Place
from .own_dataset import Kind, OwnDataset
from .read_data import GivenPart

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


class StoredInputs(NamedTuple):
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


def check_inputs(
    own: OwnDataset, default: Kind | None, parts: list[GivenPart], mistakes: DataMistakes
) -> StoredInputs | None:
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
    return StoredInputs(kind, arrays, own.scale or 1, 0, note)


def _is_numeric(part: GivenPart, mistakes: DataMistakes) -> bool:
    dtype, place = part.inputs.dtype, part.places.input()
    if dtype.kind in "buif":
        return True
    mistakes.add(place, f"holds {described(part.inputs)}: numbers were expected")
    return False


def described(array: Array) -> str:
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


def _tokens(own: OwnDataset, parts: list[GivenPart], mistakes: DataMistakes) -> StoredInputs | None:
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
    arrays = [part.inputs.astype(narrowest(known)) for part in parts]
    return StoredInputs("tokens", arrays, own.scale or 1, known)


def _levels(own: OwnDataset, parts: list[GivenPart], mistakes: DataMistakes) -> StoredInputs | None:
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
    arrays = [part.inputs.astype(narrowest(brightest + 1)) for part in parts]
    scale, note = own.scale or (1 if boolean else _BRIGHTEST), ""
    found = int(parts[0].inputs.max())
    if own.scale is None and not boolean and 0 < found <= _BRIGHTEST // 4:
        note = (
            f"the brightest level of an image is {found}, and levels are divided by {scale}: if "
            f"{found} is white, write `scale: {found}`"
        )
    return StoredInputs("images", arrays, scale, 0, note)


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


def narrowest(count: int) -> type[np.uint8] | type[np.uint16] | type[np.int32]:
    """Return the narrowest type of the whole numbers from 0 to `count` - 1."""
    if count <= 1 << 8:
        return np.uint8
    return np.uint16 if count <= 1 << 16 else np.int32
