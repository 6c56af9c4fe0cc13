"""Handles on iterations: background threads compute while virtual time goes on."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from ....core.wire.messages import Times
from ....core.worker.kept_state import Keeper
from ....core.worker.worker import LossGradient
from ....layout import Segment
from ....learning.learners.base import Activated, Evaluation
from ....vectors import Frames, Vector
from ....world.verbs import Setting

LieNow: TypeAlias = Callable[[], Setting | None]
"""Returns the setting under which a device lies at this moment; None: it does not."""


class GradientHandle(Protocol):
    """A handle on a gradient of a device's next mini-batches, perhaps not computed yet.

    A device computes and pushes the gradient whole (`segment` is None), or in segments of layers,
    the last layers first.
    """

    size: int
    """Number of parameters that the device holds."""
    steps: int
    """Number of mini-batches that the gradient takes."""

    def begin(self, segment: Segment | None = None) -> None:
        """Begin the device's computation of `segment`, so its gradient is sure to be encoded."""

    def loss(self) -> float:
        """Return the mean loss over the mini-batches, after a wait if necessary."""

    def frames(self, segment: Segment | None = None) -> Frames:
        """Return the encoded gradient of `segment`; raise NotFinite if it is not finite."""


class CutHandle(Protocol):
    """A handle on an iteration of a device that computes the layers before a cut."""

    size: int
    """Number of parameters of the device's part."""
    rows: int
    """Number of examples in the mini-batch."""

    def activated(self) -> Activated:
        """Return the activations and the labels of the mini-batch, after a wait if necessary."""

    def loss_at(self, logits: Vector) -> LossGradient:
        """Return the mean loss of the mini-batch at `logits`, and its gradient."""

    def begin_from(self, slopes: Vector) -> None:
        """Begin the backward pass from the gradient by the activations, `slopes`."""

    def frames(self, segment: Segment | None = None) -> Frames:
        """Return the encoded gradient; raise NotFinite if the gradient is not finite."""


class PrefetchedReply(NamedTuple):
    """The server's answer to a worker's pull in virtual time.

    The batch is the device's next one, so the gradient is determined as soon as the server answers.
    The reply carries a handle on that gradient through the network, and no model.
    """

    ticket: int
    version: int
    """Version of the model on which the gradient is computed."""
    handle: GradientHandle | CutHandle

    @property
    def size(self) -> int:
        """Number of parameters of the model."""
        return self.handle.size


class PrefetchedSegment(NamedTuple):
    """A piece of the server's answer to a worker's pull of a model in segments.

    All pieces of an answer carry the same handle on the gradient, and no parameters.
    """

    ticket: int
    version: int
    """Version of the model on which the gradient is computed."""
    segment: Segment
    size: int
    """Number of parameters of the layers of `segment`."""
    times: Times | None
    """With the first piece of an answer; None: a later piece."""
    handle: GradientHandle


class HandleEncoder:
    """The encoder of a worker in virtual time: the background threads have encoded already."""

    def encode(self, gradient: GradientHandle | CutHandle, /) -> Frames:
        """Return the frames of the gradient; raise NotFinite if the gradient is not finite."""
        return gradient.frames()


class SegmentHandleEncoder:
    """The encoder of a worker that pushes in segments: the threads have encoded already."""

    def encode(self, segment: Segment, gradient: GradientHandle, /) -> Frames:
        """Return the frames of `segment`; raise NotFinite if its gradient is not finite."""
        return gradient.frames(segment)


class VirtualLearner(Protocol):
    """Computes the iterations of a device, from a boot to the next crash."""

    def prefetch(self, theta: Vector) -> Any:
        """Begin to compute the next iteration at `theta`, the parameters that the device holds.

        Return a GradientHandle, or a CutHandle if the model is cut.
        """


class FleetLearning(Protocol):
    """Computes the gradients of a whole fleet, and evaluates the model."""

    scores: bool
    """Whether there is a model to evaluate."""

    def learner(
        self,
        device: str,
        incarnation: int,
        lie: LieNow | None = None,
        keeper: Keeper | None = None,
    ) -> VirtualLearner:
        """Return a learner for an incarnation of `device`.

        `lie` tells how the device lies; None: no fault lets the device lie. The learner goes on
        from the state in `keeper`, and keeps its own there after each push.
        """

    def evaluate(self, theta: Vector) -> Evaluation:
        """Return the result of the model `theta` over the test set."""

    def close(self) -> None:
        """End the background threads."""
