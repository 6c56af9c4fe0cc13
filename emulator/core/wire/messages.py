"""Messages between nodes and the parameter server."""

from dataclasses import dataclass
from typing import TypeAlias

from ...layout import Segment
from ...vectors import Buffer, Frames, Vector


@dataclass(frozen=True, eq=False, slots=True)
class Hello:
    """A node's first message, sent again with the next `incarnation` after a crash."""

    node: str
    incarnation: int


@dataclass(frozen=True, eq=False, slots=True)
class Leave:
    """A device says goodbye: nobody waits for it from then on, until its next hello."""

    node: str


@dataclass(frozen=True, eq=False, slots=True)
class Begin:
    """The server's answer once every member has said hello: the run's time runs from `zero`."""

    zero: float
    """A reading of the clock that the server was driven with."""


@dataclass(frozen=True, eq=False, slots=True)
class Pull:
    """A node asks for the model; the answer carries the same ticket."""

    node: str
    ticket: int
    after: int = 0
    """The oldest version that the evaluator still has to measure."""
    held: int | None = None
    """The version that the node holds, to which a patch would do; None: it holds none."""
    segments: tuple[Segment, ...] = ()
    """The pieces in which the model is to come, in this order; empty: whole, in one message."""


@dataclass(frozen=True, eq=False, slots=True)
class ModelReply:
    """The whole model at `version`, the number of updates applied to the model."""

    ticket: int
    version: int
    theta: Vector

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.theta.size


@dataclass(frozen=True, eq=False, slots=True)
class Patch:
    """The model at `version`, encoded: as a patch to a version that the node holds, or whole."""

    ticket: int
    version: int
    base: int | None
    """The version that it is a patch to; None: it is the whole model, in a coding of its own."""
    frames: Frames


@dataclass(frozen=True, eq=False, slots=True)
class Times:
    """The server's times of a device's last exchange: readings of the clock of `Begin.zero`."""

    answered: float
    """When the server answered the pull."""
    arrived: tuple[float, ...]
    """When each piece of the device's last update arrived, in the order of arrival."""


@dataclass(frozen=True, eq=False, slots=True)
class ModelSegment:
    """The parameters of `segment` at `version`: a piece of the model that a pull asked for."""

    ticket: int
    version: int
    segment: Segment
    theta: Vector
    times: Times | None = None
    """With the first piece of an answer; None: a later piece."""

    @property
    def size(self) -> int:
        """Number of parameters of the layers of `segment`."""
        return self.theta.size


@dataclass(frozen=True, eq=False, slots=True)
class PatchSegment:
    """The parameters of `segment` at `version`, encoded as in a `Patch`."""

    ticket: int
    version: int
    segment: Segment
    base: int | None
    """The version that it is a patch to; None: it holds all parameters of `segment`."""
    frames: Frames
    times: Times | None = None
    """With the first piece of an answer; None: a later piece."""


@dataclass(frozen=True, eq=False, slots=True)
class Update:
    """One encoded gradient, computed on the model at `version`."""

    node: str
    version: int
    loss: float
    compute: float
    """Seconds that the gradient took."""
    frames: Frames
    ticket: int | None = None
    """The ticket of the pull that brought the model; None: the run does without."""


@dataclass(frozen=True, eq=False, slots=True)
class UpdateSegment:
    """The encoded gradient of the layers of `segment`: a piece of an update, last layers first.

    The piece with layer 1 completes the update.
    """

    node: str
    version: int
    ticket: int
    """The ticket of the pull that brought the model: pieces of two updates never mix."""
    segment: Segment
    loss: float
    compute: float
    """Seconds that the gradient took so far, from the first layer's forward pass on."""
    frames: Frames


@dataclass(frozen=True, eq=False, slots=True)
class Activations:
    """Activations at the cut of a model whose later layers the server holds."""

    node: str
    version: int
    """Version of the device's part of the model."""
    ticket: int
    """The ticket of the pull that brought the device's part."""
    rows: int
    """Number of examples in the mini-batch."""
    activations: Buffer
    """Tensors that cross the cut, float32 or float16, one behind the other."""
    labels: Buffer | None = None
    """Labels of the examples, int32; None: they stay on the device."""


@dataclass(frozen=True, eq=False, slots=True)
class ActivationGradient:
    """The gradient of the loss by a device's activations."""

    ticket: int
    loss: float
    """Mean loss of an answer over the device's mini-batch."""
    gradient: Buffer
    """Gradients of the tensors that cross the cut, in the coding and order of the activations;
    empty if the server gave the device up, whose mini-batch is lost."""


@dataclass(frozen=True, eq=False, slots=True)
class Logits:
    """Outputs of the server's layers, for a device whose labels stay with it."""

    ticket: int
    logits: Buffer
    """float32, row by row."""


@dataclass(frozen=True, eq=False, slots=True)
class LogitGradient:
    """The gradient of a device's mean loss by the logits: the answer to `Logits`."""

    node: str
    ticket: int
    loss: float
    gradient: Buffer
    """float32, in the order of the logits."""


@dataclass(frozen=True, eq=False, slots=True)
class Diverged:
    """The gradient on the model at `version` is not finite, so there is nothing to push."""

    node: str
    version: int


@dataclass(frozen=True, eq=False, slots=True)
class Score:
    """The evaluator's verdict on the model at `version`, over the whole test set."""

    node: str
    version: int
    accuracy: float | None
    """None for a regression."""
    loss: float
    error: float | None = None
    """Mean absolute error of a regression; None for classes."""


@dataclass(frozen=True, eq=False, slots=True)
class Bye:
    """The run is over."""


@dataclass(frozen=True, eq=False, slots=True)
class Again:
    """The server has not heard a message of the node, which may have been a question.

    Bits of the message were flipped on the way, or the node was in quarantine.
    """


CutRequest: TypeAlias = Activations | LogitGradient
"""Requests of a device whose model is cut; only the server's part can answer them."""
CutReply: TypeAlias = ActivationGradient | Logits
Request: TypeAlias = Hello | Leave | Pull | Update | UpdateSegment | Diverged | Score | CutRequest
PullReply: TypeAlias = ModelReply | ModelSegment | Patch | PatchSegment
Reply: TypeAlias = Begin | PullReply | CutReply | Bye | Again
Message: TypeAlias = Request | Reply
Replies: TypeAlias = list[tuple[str, Reply]]
"""Pairs of a receiver and a reply."""
