"""Data sets, and how they are split over devices. Fetch them: `emulate data`."""

from .catalog import DATASETS, SENTENCES, Description, find
from .store import Dataset, load

__all__ = ["DATASETS", "SENTENCES", "Dataset", "Description", "find", "load"]
