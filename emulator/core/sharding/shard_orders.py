"""Orders of the shard that leads to the shards that follow it, and the reports of those.

Both travel over one connection for each follower, in their order: `shard_channels` numbers them.
"""

from typing import TypeAlias

import msgspec

from ...layout import Segment
from ...optimizers.base import OptimizerState
from ..wire.messages import Pull


class MakeStep(msgspec.Struct, frozen=True, tag="step"):
    """Make a step of staged parts. Its result is `Stepped`."""

    parts: list[tuple[int, int]]
    """Number of each part, and the version of the model on which its update was computed."""
    weights: list[float] | None = None


class ForgetVersions(msgspec.Struct, frozen=True, tag="forget"):
    """Drop the history, as `Parameters.forget`."""

    version: int
    needed: list[int]


class DropParts(msgspec.Struct, frozen=True, tag="drop"):
    """Drop staged parts that no step will use."""

    parts: list[int]


class KeepParts(msgspec.Struct, frozen=True, tag="keep"):
    """Drop the staged parts up to the number `known` but those of `parts`: a shard has come back,
    and orders to drop parts may be lost."""

    known: int
    parts: list[int]


class AnswerPull(msgspec.Struct, frozen=True, tag="answer"):
    """Send the present model's part to `node`. Its result is `Answered`."""

    node: str
    ticket: int
    held: int | None


class TellModel(msgspec.Struct, frozen=True, tag="model"):
    """Report the parameters of the present version. Its result is `ToldModel`."""


class TellOptimizer(msgspec.Struct, frozen=True, tag="optimizer"):
    """Report the state of the optimizer. Its result is `ToldOptimizer`."""


class EndRun(msgspec.Struct, frozen=True, tag="end"):
    """The run is over, and the leader needs nothing more."""


Order: TypeAlias = (
    MakeStep
    | ForgetVersions
    | DropParts
    | KeepParts
    | AnswerPull
    | TellModel
    | TellOptimizer
    | EndRun
)


class PullCame(msgspec.Struct, frozen=True, tag="pull"):
    """A device's pull has come to the shard."""

    node: str
    ticket: int
    after: int
    held: int | None
    segments: tuple[Segment, ...]

    def pull(self) -> Pull:
        """Return the pull."""
        return Pull(self.node, self.ticket, self.after, self.held, self.segments)


class LeaveCame(msgspec.Struct, frozen=True, tag="leave"):
    """A device's goodbye has come to the shard."""

    node: str


class PartCame(msgspec.Struct, frozen=True, tag="part"):
    """A part of an update has come to the shard, and is decoded and staged."""

    number: int
    """Number of the part, by which orders name it."""
    node: str
    version: int
    ticket: int
    loss: float
    compute: float
    entries: int
    """Entries of the gradient."""
    frames: list[int]
    """Bytes of each frame."""
    count: tuple[int, int, int]
    """Bytes of values, of indices and of headers, as the codec counts them."""
    paper: dict[str, float] | None = None
    """Bytes as the codec's paper counts them, by kind of layer; None: it does not."""


class RefusedCame(msgspec.Struct, frozen=True, tag="refused"):
    """The shard has refused a message of a node."""

    node: str
    reason: str


class UnsentPart(msgspec.Struct, frozen=True, tag="unsent"):
    """The answer to a pull could not leave."""

    node: str
    ticket: int
    version: int
    base: int | None
    frames: list[int]


class Stepped(msgspec.Struct, frozen=True, tag="stepped"):
    """The step was made."""

    divisors: list[float]
    """Mean divisor of each part."""
    oldest: int
    """Oldest version whose gradients can still be applied."""


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """The answer to a pull is on its way."""

    base: int | None
    """Version that the frames patch; None: they are all of the part."""
    frames: list[int] | None
    """Bytes of each frame; None: the parameters travel as float32."""


class ToldModel(msgspec.Struct, frozen=True, tag="told_model"):
    """The parameters of the part, as bytes of float32."""

    version: int
    theta: bytes


class PlainArray(msgspec.Struct, frozen=True):
    """An array: the name of its type, its shape, its bytes."""

    type: str
    shape: tuple[int, ...]
    data: bytes


class ToldOptimizer(msgspec.Struct, frozen=True, tag="told_optimizer"):
    """The state of the part's optimizer."""

    kind: str
    arrays: dict[str, PlainArray]

    @classmethod
    def of(cls, state: OptimizerState) -> "ToldOptimizer":
        """Return `state` as a report."""
        arrays = {
            name: PlainArray(str(array.dtype), array.shape, array.tobytes())
            for name, array in state.arrays.items()
        }
        return cls(state.kind, arrays)


News: TypeAlias = PullCame | LeaveCame | PartCame | RefusedCame | UnsentPart
"""Reports that come by themselves."""
Result: TypeAlias = Stepped | Answered | ToldModel | ToldOptimizer
"""Reports that answer an order."""
Report: TypeAlias = News | Result
