"""Data sets by name, or of one's own: their descriptions and their examples."""

from . import catalog, store
from .catalog import Description
from .own import OwnDataset
from .store import Dataset


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
