"""Owners of examples from a text file: an owner in each line, in the order of the data."""

from pathlib import Path

import numpy as np

from .examples import Array
from .split import AnySplit, Owners
from .store import Dataset


def owners_of(split: AnySplit, data: Dataset) -> Array | None:
    """Return the owner of each training example of `data` for `split`; None without owners.

    Raises ValueError if the file of `split` cannot be read, has an empty line, or another number of
    lines than the data has examples.
    """
    if not isinstance(split, Owners) or split.file is None:
        return data.owners
    try:
        lines = Path(split.file).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueError(f"{split.file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{split.file} is no text: {error}") from error
    names = [line.strip() for line in lines]
    if "" in names:
        raise ValueError(f"{split.file}:{names.index('') + 1}: is empty: an owner was expected")
    held_out = 0 if data.rows is None else len(data.test)
    if len(names) != (examples := len(data.train) + held_out):
        both = f", {held_out:,} of them for the test" if held_out else ""
        raise ValueError(
            f"{split.file} has {len(names):,} lines, and {data.name} {examples:,} examples{both}"
        )
    owners = np.array(names)
    return owners if data.rows is None else owners[data.rows]
