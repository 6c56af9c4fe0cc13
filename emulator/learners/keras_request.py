"""The request to export an own Keras model, which goes to a process of its own."""

from dataclasses import dataclass

from ..errors import PythonFileError
from ..models.own_model import ModelSource

ANSWER = "emulate's answer: "
"""Begin of the line with the process's answer: the user's file may print others after it."""


@dataclass(frozen=True)
class KerasRequest:
    """A model to export, or initial weights to draw."""

    origin: ModelSource
    name: str
    """Name by which the emulator knows the model; a digest of its source is part of it."""
    folder: str
    """Folder to fill."""
    seed: int
    """Seed of the scenario, which decides the initial weights."""
    weights_only: bool = False
    """Whether the folder lacks nothing but the initial weights of `seed`."""


class UntrainableError(PythonFileError):
    """A Keras model cannot be trained; the message says what to use instead."""

    def __init__(self, message: str) -> None:
        super().__init__(None, None, message)
