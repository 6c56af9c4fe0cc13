"""A shard: the part of a data set that one device sees, in a folder that can be mounted."""

import json
from pathlib import Path

import numpy as np

from ..errors import DataError
from .examples import Bytes, Examples

_INPUTS, _LABELS, _ABOUT = "inputs.npy", "labels.npy", "shard.json"


def write(folder: Path, examples: Examples) -> None:
    """Lay the examples down in the folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / _INPUTS, examples.inputs)
    np.save(folder / _LABELS, examples.labels)
    (folder / _ABOUT).write_text(json.dumps({"scale": examples.scale}))


def read(folder: Path) -> Examples:
    """Map what `write` has laid down; the pages are the host's cache, not a device's memory."""
    try:
        scale = json.loads((folder / _ABOUT).read_bytes())["scale"]
        return Examples(_mapped(folder / _INPUTS), _mapped(folder / _LABELS), scale)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder} is not a shard: {error}") from error


def _mapped(path: Path) -> Bytes:
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
