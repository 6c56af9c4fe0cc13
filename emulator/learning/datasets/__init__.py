"""Data sets, and their split over devices; `emulate data` fetches them."""

from .catalog import DATASETS, SENTENCES, Description, find
from .lookup import describe, load
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
    "load",
]
