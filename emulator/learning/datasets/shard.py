"""Shard: a device's part of a data set, in a folder that can be mounted."""

import json
from pathlib import Path

import numpy as np

from ...errors import DataError
from .examples import Array, Examples

_INPUTS, _LABELS, _ABOUT = "inputs.npy", "labels.npy", "shard.json"


def write(folder: Path, examples: Examples) -> None:
    """Write `examples` into `folder`, which is created if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / _INPUTS, examples.inputs)
    np.save(folder / _LABELS, examples.labels)
    (folder / _ABOUT).write_text(json.dumps({"scale": examples.scale}), encoding="utf-8")


def read(folder: Path) -> Examples:
    """Map the examples that `write` has written. Raises DataError.

    The pages belong to the host's page cache, not to the device's own memory.
    """
    try:
        scale = json.loads((folder / _ABOUT).read_bytes())["scale"]
        return Examples(_mapped(folder / _INPUTS), _mapped(folder / _LABELS), scale)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder} is not a shard: {error}") from error


def _mapped(path: Path) -> Array:
    """Return the array in the file at `path`, mapped."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
