"""Data sets, and their split over devices; `emulate data` fetches them."""

from .catalog import DATASETS, SENTENCES, Description, find
from .store import Dataset, load

__all__ = ["DATASETS", "SENTENCES", "Dataset", "Description", "find", "load"]
