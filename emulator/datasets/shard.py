"""A shard: the part of a data set that one device sees, in a folder that can be mounted."""

import json
from pathlib import Path

import numpy as np

from ..errors import DataError
from .examples import Bytes, Examples

_IMAGES, _LABELS, _ABOUT = "images.npy", "labels.npy", "shard.json"


def write(folder: Path, examples: Examples) -> None:
    """Lay the examples down in the folder, which is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / _IMAGES, examples.images)
    np.save(folder / _LABELS, examples.labels)
    (folder / _ABOUT).write_text(json.dumps({"white": examples.white}))


def read(folder: Path) -> Examples:
    """Map what `write` has laid down; the pages are the host's cache, not a device's memory."""
    try:
        white = json.loads((folder / _ABOUT).read_bytes())["white"]
        return Examples(_mapped(folder / _IMAGES), _mapped(folder / _LABELS), white)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder} is not a shard: {error}") from error


def _mapped(path: Path) -> Bytes:
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
