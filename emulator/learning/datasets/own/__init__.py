"""Data sets of one's own: NumPy arrays, tables, folders of images, and Python functions."""

from .data_mistakes import DataMistake, OwnDataError
from .own_dataset import OwnDataset, is_path

__all__ = ["DataMistake", "OwnDataError", "OwnDataset", "is_path"]
