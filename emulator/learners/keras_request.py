"""The request to export an own Keras model, which goes to a process of its own."""

from dataclasses import dataclass

from ..errors import PythonFileError


@dataclass(frozen=True)
class KerasRequest:
    """A model to export, or initial weights to draw."""

    reference: str
    """The model as `/path/file.py:function`."""
    name: str
    """Name by which the emulator knows the model; a digest of its source is part of it."""
    folder: str
    """Folder to fill."""
    seed: int
    """Seed of the scenario, which decides the initial weights."""
    loss: str
    """`crossentropy`, `mse`, or a function as `/path/file.py:function`."""
    regression: bool
    """Whether answers are numbers, not classes."""
    weights_only: bool = False
    """Whether the folder lacks nothing but the initial weights of `seed`."""


class UntrainableError(PythonFileError):
    """A Keras model cannot be trained; the message says what to use instead."""

    def __init__(self, message: str) -> None:
        super().__init__(None, None, message)
