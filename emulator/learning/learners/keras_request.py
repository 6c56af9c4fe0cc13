"""Requests about own Keras models, which go to a process of its own."""

from dataclasses import dataclass

from ...errors import PythonFileError
from ..models.own_model import ModelSource


@dataclass(frozen=True)
class KerasRequest:
    """A model to export, initial weights to draw, or trained weights to give back to Keras."""

    origin: ModelSource
    name: str
    """Name by which the emulator knows the model; a digest of its source is part of it."""
    folder: str
    """Folder to fill; with `trained`, the file to write, which ends in `.weights.h5`."""
    seed: int
    """Seed of the scenario, which decides the initial weights."""
    weights_only: bool = False
    """Whether the folder lacks nothing but the initial weights of `seed`."""
    trained: str = ""
    """A run's `model.npz` whose parameters Keras shall save; empty without."""


class UntrainableError(PythonFileError):
    """A Keras model cannot be trained; the message says what to use instead."""

    def __init__(self, message: str) -> None:
        super().__init__(None, None, message)
