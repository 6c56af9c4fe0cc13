"""A pull answers a worker with a model: dense, or as a patch to the one that it holds."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..codecs.base import Frames, Gradient, Vector


class Sent(NamedTuple):
    """A model on its way to a worker."""

    theta: Vector
    """All parameters as the worker will hold them, float32, read-only."""
    frames: Frames | None = None
    """What travels in their stead; None: they do, as they are."""
    base: int | None = None
    """The version that the frames are a patch to; None: they are the whole model."""


class Pulls(Protocol):
    """What one server keeps so as to answer pulls."""

    def changed(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        """These gradients made one step, each a version of its own.

        Unless it changed parameters `everywhere`, what is in none of them is what it was.
        """

    def answer(self, theta: Vector, version: int, held: int | None) -> Sent:
        """`theta`, read-only and as it stands at `version`, for a worker that holds that version.

        None: it holds none. Nothing is remembered of workers: their number costs nothing.
        """
