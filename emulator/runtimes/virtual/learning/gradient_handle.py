"""Handles on gradients: background threads compute while virtual time goes on."""

from typing import NamedTuple, Protocol

from ....core.cut_commands import LossGradient
from ....core.kept_state import Keeper
from ....core.messages import Times
from ....layout import Segment
from ....learners.base import Activated, Evaluation
from ....vectors import Frames, Vector
from .lies import LieNow


class GradientHandle(Protocol):
    """A handle on a gradient, perhaps not computed yet, of a device's next mini-batches."""

    size: int
    """Number of parameters of the model."""
    steps: int
    """Number of mini-batches that the gradient takes."""

    def begin(self) -> None:
        """Begin the device's computation, so the gradient is sure to be pushed."""

    def loss(self) -> float:
        """Return the mean loss over the mini-batches, after a wait if necessary."""

    def frames(self) -> Frames:
        """Return the encoded gradient; raise NotFinite if the gradient is not finite."""


class SegmentedHandle(Protocol):
    """A handle on a gradient that a device computes and pushes in segments of layers."""

    def begin(self, segment: Segment) -> None:
        """Begin the backward pass of `segment`, so its gradient is sure to be encoded.

        Segments come last layers first, as they are pushed.
        """

    def loss(self) -> float:
        """Return the mean loss over the mini-batch, after a wait if necessary."""

    def frames(self, segment: Segment) -> Frames:
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

    def begin(self, slopes: Vector) -> None:
        """Begin the backward pass from the gradient by the activations, `slopes`."""

    def frames(self) -> Frames:
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
    handle: SegmentedHandle


class HandleEncoder:
    """The encoder of a worker in virtual time: the background threads have encoded already."""

    def encode(self, gradient: GradientHandle | CutHandle, /) -> Frames:
        """Return the frames of the gradient; raise NotFinite if the gradient is not finite."""
        return gradient.frames()


class SegmentHandleEncoder:
    """The encoder of a worker that pushes in segments: the threads have encoded already."""

    def encode(self, segment: Segment, gradient: SegmentedHandle, /) -> Frames:
        """Return the frames of `segment`; raise NotFinite if its gradient is not finite."""
        return gradient.frames(segment)


class VirtualLearner(Protocol):
    """Computes the gradients of a device, from a boot to the next crash."""

    def prefetch(self, theta: Vector) -> GradientHandle:
        """Begin to compute the gradient of the next mini-batches at the model `theta`."""


class SegmentedLearner(Protocol):
    """Computes the gradients of a device that computes layer by layer, until the next crash."""

    def prefetch(self, theta: Vector) -> SegmentedHandle:
        """Begin to compute the gradient of the next mini-batch at the model `theta`."""


class CutSource(Protocol):
    """Computes the passes of a device that holds the layers before a cut, until the next crash."""

    def prefetch(self, theta: Vector) -> CutHandle:
        """Begin to compute the activations of the next mini-batch at the device's part `theta`."""


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

    def segmented(
        self, device: str, incarnation: int, lie: LieNow | None = None
    ) -> SegmentedLearner:
        """Return a learner for an incarnation of `device` that computes layer by layer."""

    def cut(self, device: str, incarnation: int, lie: LieNow | None = None) -> CutSource:
        """Return a learner for an incarnation of `device` that holds the layers before a cut."""

    def evaluate(self, theta: Vector) -> Evaluation:
        """Return the result of the model `theta` over the test set."""

    def close(self) -> None:
        """End the background threads."""
