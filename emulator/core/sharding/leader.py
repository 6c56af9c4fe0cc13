"""The shard of the server that leads others in processes of their own: a parameter server that
holds the first layers, and has the arrays of all others elsewhere.

The parts of the followers are known here by number and size. A step, and an answer to a pull, is an
order to all followers, whose results are awaited before the server goes on: after each of them all
shards are at one version. So a snapshot, read between two steps, is a consistent cut.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...codecs.base import (
    Accounting,
    ByteCount,
    Codec,
    Encoder,
    EncoderContext,
    accounting,
    decode_once,
)
from ...errors import WireError
from ...layout import Kind, Layout
from ...optimizers.base import OptimizerState
from ...plugins.stateful import Stateful
from ...pulls import Pulls
from ...vectors import Frames, Gradient, Vector
from ..server.ledger import UnsentAnswer
from ..server.parameter_server import ParameterServer
from ..server.parameters import Parameters, Saved, joined_optimizer_states
from ..server.staging import Parts
from ..wire.messages import (
    Leave,
    Message,
    ModelSegment,
    PatchSegment,
    Pull,
    PullReply,
    Replies,
    Request,
    Times,
    UpdateSegment,
)
from .part_staging import GatheredRequests
from .parts_elsewhere import Followers, ReportedFrames, ScatteredGradient, zeros
from .server_shards import LEADER, ServerShards
from .shard_orders import (
    Answered,
    AnswerPull,
    ForgetVersions,
    LeaveCame,
    MakeStep,
    News,
    PartCame,
    PullCame,
    RefusedCame,
    Stepped,
    TellModel,
    TellOptimizer,
    ToldModel,
    ToldOptimizer,
    UnsentPart,
)
from .sharded_state import mean_divisors


class LeadersCodec:
    """The codec of a run, for frames of the leader and for frames that followers report."""

    def __init__(self, codec: Codec, own: Layout) -> None:
        """`own` is the layout of the leader's layers."""
        self._codec, self._own, self._paper = codec, own, accounting(codec)
        self.paper: Accounting | None = self._accounted if self._paper else None

    def start(self, context: EncoderContext) -> Encoder:
        return self._codec.start(context)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return decode_once(frames, self._codec, layout)

    def count(self, frames: Frames) -> ByteCount:
        if isinstance(frames, ReportedFrames):
            return frames.counted
        return self._codec.count(frames)

    def joined(self, parts: Parts) -> Gradient:
        """Join the parts of an update, given from the last layers to the first."""
        return ScatteredGradient([gradient for _, gradient in reversed(parts)])

    def _accounted(self, gradient: Gradient, layout: Layout) -> Mapping[Kind, float]:
        assert isinstance(gradient, ScatteredGradient) and self._paper is not None
        shares = [self._paper(gradient.own, self._own)]
        shares += [part.paper for part in gradient.elsewhere if part.paper is not None]
        kinds = dict.fromkeys(kind for share in shares for kind in share)
        return {kind: sum(share.get(kind, 0.0) for share in shares) for kind in kinds}


class LeadersState(Stateful):
    """The model of a server whose first shard leads: a State with the other parts elsewhere."""

    # with the read model, as without it a follower is asked for its part once more
    STATE = ("_own", "_oldest", "_whole")

    def __init__(self, own: Parameters, followers: Followers) -> None:
        """`own` holds the leader's layers."""
        self._own, self._followers = own, followers
        self._oldest = own.oldest  # of all shards
        self._whole: Vector | None = None  # the present version, once somebody has asked for it

    @property
    def theta(self) -> Vector:
        """The parameters of all shards, f32[N]."""
        return self.snapshot()

    @property
    def version(self) -> int:
        return self._own.version

    @property
    def oldest(self) -> int:
        return max(self._oldest, self._own.oldest)

    @property
    def everywhere(self) -> bool:
        return self._own.everywhere

    def apply(
        self, arrivals: Sequence[tuple[Gradient, int]], weights: Sequence[float] | None = None
    ) -> list[float]:
        """Take one step at every shard at once; return the mean divisors over all entries."""
        self._whole = None
        scattered = [(_scattered(gradient), version) for gradient, version in arrivals]
        plain = None if weights is None else list(weights)
        elsewhere = [(gradient.elsewhere, version) for gradient, version in scattered]
        self._followers.begin(
            [
                MakeStep([(parts[place].number, version) for parts, version in elsewhere], plain)
                for place in range(len(self._followers))
            ]
        )
        divisors = [self._own.apply([(each.own, version) for each, version in scattered], weights)]
        for result in self._followers.results():
            assert isinstance(result, Stepped)
            divisors.append(result.divisors)
            self._oldest = max(self._oldest, result.oldest)
        entries = np.array([[part.values.size for part in each.parts] for each, _ in scattered])
        return mean_divisors(divisors, entries.T)

    def snapshot(self) -> Vector:
        """Return the model of this version, as `Parameters.snapshot`."""
        if self._whole is None:
            self._followers.begin(TellModel())
            parts = [self._own.theta]
            for result in self._followers.results():
                assert isinstance(result, ToldModel) and result.version == self.version
                parts.append(np.frombuffer(result.theta, np.float32))
            self._whole = np.concatenate(parts)
            self._whole.flags.writeable = False
        return self._whole

    def optimizer_state(self) -> OptimizerState:
        """Return the state of the optimizer over all parameters."""
        self._followers.begin(TellOptimizer())
        states = [self._own.optimizer_state()]
        for result in self._followers.results():
            assert isinstance(result, ToldOptimizer)
            states.append(_optimizer_state(result))
        return joined_optimizer_states(states)

    def forget(self, version: int, needed: Iterable[int] = ()) -> None:
        """Drop the history of every shard, as `Parameters.forget`."""
        versions = list(needed)
        self._followers.tell(ForgetVersions(version, versions))
        self._own.forget(version, versions)

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        if self._whole is not None:
            self._whole.flags.writeable = False


def _scattered(gradient: Gradient) -> ScatteredGradient:
    if not isinstance(gradient, ScatteredGradient):
        raise TypeError(f"a leader makes no step of a {type(gradient).__name__}")
    return gradient


def _optimizer_state(told: ToldOptimizer) -> OptimizerState:
    arrays = {
        name: np.frombuffer(array.data, array.type).reshape(array.shape)
        for name, array in told.arrays.items()
    }
    return OptimizerState(told.kind, arrays)


class LeadersReplies(Stateful):
    """Answers pulls, each shard with its part of the present version, as `PullReplies` does."""

    STATE = ("_pulls",)

    def __init__(
        self,
        own: Parameters,
        pulls: Pulls,
        layout: Layout,
        shards: ServerShards,
        followers: Followers,
    ) -> None:
        """`own` holds the leader's layers, which `pulls` encodes; `layout` is the model's."""
        self._own, self._pulls, self._layout = own, pulls, layout
        self._shards, self._followers = shards, followers

    def changed(self, gradients: Sequence[Gradient]) -> None:
        """Record that `gradients` made a step of the model."""
        own = [_scattered(gradient).own for gradient in gradients]
        self._pulls.changed(own, self._own.everywhere)

    def held(self) -> Vector:
        """Raise TypeError: drivers call this in virtual time only."""
        raise TypeError("the leader holds its own layers alone")

    def check(self, pull: Pull) -> None:
        """Raise a WireError unless the model can be sent as `pull` asks for it."""
        if pull.held is not None and pull.held > self._own.version:
            raise WireError(f"{pull.node} cannot hold version {pull.held}")
        if pull.segments != self._shards.segments:
            raise WireError(f"{pull.node} pulls other layers than those of the server's shards")

    def whole(self, pull: Pull) -> PullReply:
        """Raise TypeError: `check` has refused such a pull."""
        raise TypeError("shards have no whole model")

    def pieces(self, pull: Pull, times: Times | None) -> list[PullReply]:
        """Answer `pull` everywhere; return the leader's reply, and of each of the others one of the
        same size, which the follower has sent."""
        self._followers.begin(AnswerPull(pull.node, pull.ticket, pull.held))
        coded = self._pulls.answer(self._own.theta, pull.held)
        about = pull.ticket, self._own.version, self._shards.segments[LEADER]
        replies: list[PullReply] = [
            ModelSegment(*about, self._own.snapshot())
            if coded is None
            else PatchSegment(*about, coded.base, coded.frames)
        ]
        for number, result in enumerate(self._followers.results(), LEADER + 1):
            assert isinstance(result, Answered)
            replies.append(self._sent(pull.ticket, number, result))
        return replies

    def _sent(self, ticket: int, number: int, sent: Answered) -> PullReply:
        """Return a reply as large as the one that the follower `number` has `sent`."""
        segment = self._shards.segments[number]
        if sent.frames is None:
            theta = zeros(self._layout.part(segment).size)
            return ModelSegment(ticket, self._own.version, segment, theta)
        frames = ReportedFrames.of(sent.frames)
        return PatchSegment(ticket, self._own.version, segment, sent.base, frames)


class Leader(Stateful):
    """The parameter server of a leader, for its driver: gathers what comes to several shards.

    `tick` takes the news of the followers. So the driver has to call it once news come. All other
    methods are those of `ParameterServer`.
    """

    def __init__(self, server: ParameterServer, shards: ServerShards, followers: Followers) -> None:
        self._server, self._shards, self._followers = server, shards, followers
        self._gathered = GatheredRequests(shards)

    @property
    def over(self) -> bool:
        return self._server.over

    @property
    def zero(self) -> float | None:
        return self._server.zero

    @property
    def version(self) -> int:
        return self._server.version

    @property
    def model(self) -> Saved:
        return self._server.model

    @property
    def whole(self) -> Layout:
        return self._server.whole

    @property
    def missing(self) -> list[str]:
        return self._server.missing

    def handle(self, node: str, message: Message, now: float) -> Replies:
        """Take `message`, which came to the leader itself."""
        try:
            return self.receive(message, now)
        except WireError as error:
            self.refuse(node, str(error), now)
            return []

    def receive(self, message: Message, now: float) -> Replies:
        """Take `message`, which came to the leader itself; raise WireError to refuse it."""
        return self._take(message, LEADER, now)

    def refuse(self, node: str, reason: str, now: float) -> None:
        self._server.refuse(node, reason, now)

    def hears(self, node: str) -> bool:
        return self._server.hears(node)

    def unsent(self, unsent: Replies, now: float) -> None:
        self._server.unsent(unsent, now)

    def unsent_answers(self, unsent: Replies) -> tuple[UnsentAnswer, ...]:
        return self._server.unsent_answers(unsent)

    def record_unsent(self, answers: Iterable[UnsentAnswer], now: float) -> None:
        self._server.record_unsent(answers, now)

    def deadline(self) -> float | None:
        """Return the time of the next `tick`; news are due at once."""
        return -math.inf if self._followers.waiting() else self._server.deadline()

    def tick(self, now: float) -> Replies:
        replies: Replies = []
        # those that come meanwhile wait for the next call: the leader's own messages have a turn
        for shard, news in self._followers.news():
            replies += self._hear(shard, news, now)
        replies += self._own(self._server.tick(now))
        self._followers.drop()
        return replies

    def end(self, reason: str, now: float, detail: str = "") -> Replies:
        return self._own(self._server.end(reason, now, detail))

    def recover(self, booked: Mapping[str, int], kept: dict[str, Any]) -> None:
        self._server.recover(booked, kept)

    def state(self) -> dict[str, Any]:
        """Return the state of the server, and of its connections with the followers."""
        return {
            "server": self._server.state(),
            "gathered": self._gathered.state(),
            "followers": self._followers.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._followers.restore(state["followers"], state["server"])
        self._gathered.restore(state["gathered"])
        self._server.restore(state["server"])

    def _hear(self, shard: int, news: News, now: float) -> Replies:
        match news:
            case PullCame(node):
                return self._taken(node, news.pull(), shard, now)
            case LeaveCame(node):
                return self._taken(node, Leave(node), shard, now)
            case PartCame(node=node):
                return self._taken(node, self._piece(shard, news), shard, now)
            case RefusedCame(node, reason):
                self._server.refuse(node, reason, now)
            case UnsentPart(node):
                self._server.unsent([(node, self._reply(shard, news))], now)
        return []

    def _taken(self, node: str, message: Message, shard: int, now: float) -> Replies:
        """Take `message` of `node`, which came to a follower."""
        try:
            return self._take(message, shard, now)
        except WireError as error:
            self.refuse(node, str(error), now)
            return []

    def _take(self, message: Message, shard: int, now: float) -> Replies:
        if isinstance(message, Request) and not self._gathered.complete(message, shard):
            return []
        return self._own(self._server.receive(message, now))

    def _own(self, replies: Replies) -> Replies:
        """Return those of `replies` that the leader sends: followers have sent the others."""
        return [each for each in replies if self._shards.sender(each[1]) == LEADER]

    def _piece(self, shard: int, came: PartCame) -> UpdateSegment:
        """Return the part that `came` to `shard`, without its arrays."""
        frames = ReportedFrames.of(came.frames, came.count)
        frames.gradient = self._followers.elsewhere(shard, came)
        about = came.node, came.version, came.ticket, self._shards.segments[shard]
        return UpdateSegment(*about, came.loss, came.compute, frames)

    def _reply(self, shard: int, unsent: UnsentPart) -> PatchSegment:
        """Return an answer of `shard` of the size of the one that could not leave."""
        frames = ReportedFrames.of(unsent.frames)
        segment = self._shards.segments[shard]
        return PatchSegment(unsent.ticket, unsent.version, segment, unsent.base, frames)
