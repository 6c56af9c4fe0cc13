"""A pull answers a worker with a model: dense, or as a patch to the one that it holds."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..vectors import Frames, Gradient, Vector


class EncodedModel(NamedTuple):
    """What travels in a model's stead."""

    frames: Frames
    base: int | None = None
    """The version that the frames are a patch to; None: they are the whole model."""


class Pulls(Protocol):
    """What one server keeps so as to answer pulls.

    `theta` is the server's model as it is now, all parameters as float32. The next step changes
    it in place, so whatever is made of it is a copy.
    """

    def changed(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        """These gradients made one step, each a version of its own.

        Unless it changed parameters `everywhere`, what is in none of them is what it was.
        """

    def answer(self, theta: Vector, held: int | None) -> EncodedModel | None:
        """What to send to a worker that holds that version, if any; None: `theta` as it is.

        A patch costs what has changed, however large the model. Nothing is remembered of
        workers: their number costs nothing.
        """

    def rounded(self, theta: Vector) -> Vector | None:
        """All parameters as a worker will hold them, read-only, one array a version.

        None: exactly as they are.
        """
