"""A shard of the server that follows: it holds its layers, and does as the leader says.

It decodes parts of updates as they come, and reports each message of a device to the leader in a
few bytes: the arrays stay here. It makes steps and answers pulls by the leader's orders, one after
the other, so that it has the versions of the leader.
"""

from ...codecs.base import Codec, accounting
from ...errors import WireError
from ...layout import Layout, Segment
from ...plugins.stateful import Stateful
from ...pulls import Pulls
from ...vectors import Gradient
from ..server.parameters import Parameters
from ..wire.messages import (
    Leave,
    ModelSegment,
    PatchSegment,
    Pull,
    Replies,
    Request,
    UpdateSegment,
)
from .server_shards import is_for_all
from .shard_orders import (
    Answered,
    AnswerPull,
    DropParts,
    EndRun,
    ForgetVersions,
    KeepParts,
    LeaveCame,
    MakeStep,
    News,
    Order,
    PartCame,
    PullCame,
    Result,
    Stepped,
    TellModel,
    TellOptimizer,
    ToldModel,
    ToldOptimizer,
    UnsentPart,
)


class Follower(Stateful):
    """The state of one shard, without sockets and clocks."""

    STATE = ("_staged", "_number", "over", "_parameters", "_pulls")

    def __init__(
        self, segment: Segment, layout: Layout, parameters: Parameters, pulls: Pulls, codec: Codec
    ) -> None:
        """Hold the layers of `segment`, whose layout is `layout`, in `parameters`.

        `pulls` encodes them, and `codec` decodes parts of updates.
        """
        self._segment, self._layout, self._parameters = segment, layout, parameters
        self._pulls, self._codec, self._paper = pulls, codec, accounting(codec)
        self._staged: dict[int, Gradient] = {}  # by number
        self._number = 0
        self.over = False
        """Whether the leader has ended the run."""

    @property
    def staged(self) -> int:
        """Number of the parts that wait for a step."""
        return len(self._staged)

    def hear(self, message: Request) -> News:
        """Take `message` of a device; return the report for the leader.

        Raises WireError to refuse the message.
        """
        match message:
            case Pull(node, ticket, after, held, segments) if is_for_all(message):
                return PullCame(node, ticket, after, held, segments)
            case Leave(node):
                return LeaveCame(node)
            case UpdateSegment() if message.segment == self._segment:
                return self._stage(message)
        raise WireError(f"this shard does not take a {type(message).__name__}")

    def _stage(self, piece: UpdateSegment) -> PartCame:
        frames = piece.frames
        gradient = self._codec.decode(frames, self._layout)
        count = self._codec.count(frames)
        self._number += 1
        self._staged[self._number] = gradient
        paper = self._paper(gradient, self._layout) if self._paper else None
        return PartCame(
            self._number,
            *(piece.node, piece.version, piece.ticket, piece.loss, piece.compute),
            entries=gradient.values.size,
            frames=[len(frame) for frame in frames],
            count=(count.values, count.indices, count.headers),
            paper=None if paper is None else {str(kind): size for kind, size in paper.items()},
        )

    def obey(self, order: Order) -> tuple[Result | None, Replies]:
        """Do as `order` says; return its result, if it has one, and replies to devices.

        Raises KeyError if the order names a part that is not staged: leader and follower disagree,
        and the run cannot go on.
        """
        match order:
            case MakeStep():
                return self._step(order), []
            case ForgetVersions(version, needed):
                self._parameters.forget(version, needed)
            case DropParts(parts):
                for number in parts:
                    self._staged.pop(number, None)  # those of a step have gone
            case KeepParts(known, kept):
                for number in {each for each in self._staged if each <= known}.difference(kept):
                    del self._staged[number]
            case AnswerPull():
                return self._answer(order)
            case TellModel():
                theta = self._parameters.snapshot()
                return ToldModel(self._parameters.version, theta.tobytes()), []
            case TellOptimizer():
                return ToldOptimizer.of(self._parameters.optimizer_state()), []
            case EndRun():
                self.over = True
        return None, []

    def _step(self, step: MakeStep) -> Stepped:
        arrivals = [(self._staged.pop(number), version) for number, version in step.parts]
        divisors = self._parameters.apply(arrivals, step.weights)
        gradients = [gradient for gradient, _ in arrivals]
        self._pulls.changed(gradients, self._parameters.everywhere)
        return Stepped(divisors, self._parameters.oldest)

    def _answer(self, order: AnswerPull) -> tuple[Answered, Replies]:
        parameters, segment = self._parameters, self._segment
        coded = self._pulls.answer(parameters.theta, order.held)
        about = order.ticket, parameters.version, segment
        if coded is None:
            reply = ModelSegment(*about, parameters.snapshot())
            return Answered(None, None), [(order.node, reply)]
        sizes = [len(frame) for frame in coded.frames]
        patch = PatchSegment(*about, coded.base, coded.frames)
        return Answered(coded.base, sizes), [(order.node, patch)]

    @staticmethod
    def unsent(node: str, reply: ModelSegment | PatchSegment) -> UnsentPart:
        """Return the report that `reply` to `node` could not leave."""
        base = reply.base if isinstance(reply, PatchSegment) else None
        frames = (
            [len(frame) for frame in reply.frames]
            if isinstance(reply, PatchSegment)
            else [reply.theta.nbytes]
        )
        return UnsentPart(node, reply.ticket, reply.version, base, frames)
