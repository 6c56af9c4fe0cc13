"""Protocols of pulls, which answer a worker with the whole model or with a patch."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..layout import Segment
from ..vectors import Frames, Gradient, Vector


class EncodedModel(NamedTuple):
    """A model encoded as frames, whole or as a patch."""

    frames: Frames
    base: int | None = None
    """Version that the frames patch; None if the frames hold the whole model."""


class Pulls(Protocol):
    """State of a server for answering pulls.

    `theta` is the server's present model, float32 of all parameters. The next step changes it in
    place, so every answer must be a copy.
    """

    def changed(self, gradients: Sequence[Gradient], everywhere: bool) -> None:
        """Record that `gradients` made a step, with a version for each gradient.

        Unless the step changed parameters `everywhere`, parameters in none of the gradients are
        unchanged.
        """

    def answer(
        self, theta: Vector, held: int | None, segment: Segment | None = None
    ) -> EncodedModel | None:
        """Return the frames for a worker that holds version `held`; None stands for `theta` itself.

        `held` None means that the worker holds no model. With `segment`, the frames hold only the
        parameters of the segment's layers, and None stands for their slice of `theta`; all segments
        of a version are patches, or none is, as the whole model would be. A patch costs O(changed
        parameters), however large the model is. No state is kept for a worker.
        """

    def rounded(self, theta: Vector) -> Vector | None:
        """Return the parameters as a worker will hold them, read-only, one array a version.

        None means exactly `theta`.
        """
