"""Data sets, and their split over devices; `emulate data` fetches them."""

from pathlib import Path

from . import catalog, store
from .catalog import DATASETS, SENTENCES, Description, find
from .own import OwnDataset
from .store import Dataset

__all__ = [
    "DATASETS",
    "SENTENCES",
    "Dataset",
    "Description",
    "OwnDataset",
    "describe",
    "find",
    "folder",
    "load",
]


def describe(dataset: str | OwnDataset) -> Description:
    """Return task and sizes of `dataset`, a name or a resolved data set of one's own.

    Raises ValueError for an unknown name, DataError if the cache lacks the data set.
    """
    if isinstance(dataset, str):
        return catalog.find(dataset)
    from .own import kept_data  # only here: devices read none

    return kept_data.describe(dataset)


def load(dataset: str | OwnDataset) -> Dataset:
    """Return the examples of `dataset`, a name or a resolved data set of one's own.

    Raises DataError, with the remedy, if it is missing or damaged.
    """
    if isinstance(dataset, str):
        return store.load(dataset)
    from .own import kept_data

    return kept_data.load(dataset)


def folder(dataset: str | OwnDataset) -> Path:
    """Return the folder of the cache that holds `dataset`, a name or a resolved data set of one's
    own."""
    if isinstance(dataset, str):
        return store.folder(dataset)
    from .own import kept_data

    return kept_data.folder_of(dataset)
