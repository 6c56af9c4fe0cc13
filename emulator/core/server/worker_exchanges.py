"""The server's exchanges with workers: models go out, gradients come back and make steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...codecs.base import Codec
from ...errors import WireError
from ...layout import Layout, Segment
from ...plugins.stateful import Stateful
from ...pulls import Pulls
from ...synchronization.base import LeftOut, LeftOutCount, Meeting, Patient, Synchronizer
from ...vectors import Gradient, Vector
from ..cut.cut_exchange import CutExchange, CutStep
from ..sharding.part_staging import PartStaging
from ..sharding.server_shards import ServerShards
from ..wire.messages import (
    Activations,
    CutRequest,
    Diverged,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Pull,
    PullReply,
    Replies,
    Times,
    Update,
    UpdateSegment,
)
from .ledger import Arrival, Ledger
from .parameters import State
from .pulled_versions import GroupUpdates, PulledVersions, check_sent
from .staging import Staging


@dataclass(frozen=True)
class ServerParts:
    """The parts of a server that its plan chooses, made by `assembly.server`."""

    layout: Layout
    """Layout of what devices hold: the model, or its layers before a cut."""
    codec: Codec
    """Decodes pushes."""
    synchronizer: Synchronizer[Arrival]
    pulls: Pulls
    """Encodes models."""
    groups: GroupUpdates | None = None
    """Counts the steps of compute groups, by which staleness counts then; None: there are none."""
    cut: CutExchange | None = None
    """Takes the activations of devices whose model is cut."""
    shards: ServerShards | None = None
    """The shards of the server; None: it has none."""
    replies: "Replier | None" = None
    """Answers pulls; None: the server has the whole model in this process."""


class WorkerExchanges(Stateful):
    """Answers pulls, and turns pushes into steps of the model as the synchronizer says.

    A push in pieces reaches the synchronizer when the last piece arrives. For the synchronizer a
    device that dies between two pieces died before its push.
    """

    STATE = ("_synchronizer", "_replies", "_pulled", "_staging", "_groups", "_cut", "_left_out")

    def __init__(
        self,
        parameters: State,
        parts: ServerParts,
        ledger: Ledger,
        *,
        by_name: bool = False,
    ) -> None:
        """With `by_name` the updates of a step are summed in the order of the workers' names."""
        self._parameters, self._codec, self._layout = parameters, parts.codec, parts.layout
        self._synchronizer, self._ledger = parts.synchronizer, ledger
        whole = parameters, parts.pulls, parts.layout, parts.shards
        self._replies: Replier = parts.replies or PullReplies(*whole)
        self._pulled = PulledVersions()
        self._staging = _staging(parts)
        self._groups, self._cut, self._by_name = parts.groups, parts.cut, by_name
        synchronizer, cut = parts.synchronizer, parts.cut
        self._patient = synchronizer if isinstance(synchronizer, Patient) else None
        # the devices that the cut gives up, of a synchronizer without a patience
        self._left_out = LeftOut()
        self._meeting = synchronizer if cut and isinstance(synchronizer, Meeting) else None

    def expect(self, message: Update | UpdateSegment | Activations | Diverged) -> None:
        """Raise a WireError unless `message` is about the version that its node was sent last."""
        check_sent(message, self._pulled.version(message.node))

    def lost(self, node: str, now: float) -> None:
        """Forget the model sent to `node` and what came of it: a crash lost both."""
        if self.computes(node):
            self._ledger.unused(node)
        self._pulled.end(node)
        self._staging.forget(node)
        if self._cut:
            self._cut.forget(node, now)

    def computes(self, node: str) -> bool:
        """Return whether `node` was sent a model, and has made nothing of it yet."""
        return self._pulled.version(node) is not None

    def departed(self, node: str, now: float) -> tuple[Replies, list[Arrival] | None]:
        """Wait no more for `node`, which has said goodbye; return as `cross`."""
        self.lost(node, now)
        self._left_out.back(node)
        # before the activations: a group that passes is told below which pushes to expect
        arrivals = self._synchronizer.departed(node, now)
        return self._passed(self._cut.departed(node, now), now) if self._cut else [], arrivals

    def returned(self, node: str, now: float) -> None:
        """Wait for `node` again, which has said hello after a goodbye."""
        self._synchronizer.returned(node, now)
        if self._cut:
            self._cut.returned(node)

    def left_out(self) -> list[LeftOutCount]:
        """Return the count of every device that a step was made without, as it was given up."""
        return (self._patient or self._left_out).left_out()

    def close(self) -> None:
        """Forget all pieces and activations: the run takes no more pushes."""
        self._staging.clear()
        if self._cut:
            self._cut.close()

    def deadline(self) -> float | None:
        """Return the time at which to call `tick`; None if nothing is waited for."""
        return earliest(self._synchronizer.deadline(), self._cut.deadline() if self._cut else None)

    def tick(self, now: float) -> tuple[Replies, list[Arrival] | None]:
        """Give up devices that are waited for in vain; return as `cross`."""
        arrivals = self._synchronizer.tick(now)
        if self._cut is None:
            return [], arrivals
        replies = self._passed(self._cut.tick(now), now)
        if given_up := self._cut.take_given_up():
            (self._patient or self._left_out).give_up(given_up)
        return replies, arrivals

    # -- models out ----------------------------------------------------------------------------

    def ask(self, pull: Pull, now: float) -> None:
        """Drop the pieces of an update, or the activations, that a worker's `pull` cuts short.

        Raises a WireError if the model cannot be sent in the segments of `pull`.
        """
        self._replies.check(pull)
        self._staging.interrupt(pull.node)
        if self._cut:
            self._cut.forget(pull.node, now)

    def answer(self, pull: Pull, now: float) -> Sequence[PullReply]:
        """Return the replies to `pull`: a message for each segment, all of the same version."""
        self._pulled.begin(pull.node, self._parameters.version)
        self._synchronizer.sent(pull.node)
        if self._groups:
            self._groups.pulled(pull.node)
        if self._cut:
            self._cut.begin(pull.node, pull.ticket)
        if pull.segments:
            times = self._staging.begin(pull.node, pull.ticket, now)
            return self._replies.pieces(pull, times)
        self._staging.forget(pull.node)
        return [self._replies.whole(pull)]

    def held(self) -> Vector:
        """Return the model as every worker that pulls this version holds it: f32[N], read-only."""
        return self._replies.held()

    # -- gradients in --------------------------------------------------------------------------

    def take(self, push: Update | UpdateSegment, now: float) -> list[Arrival] | None:
        """Take an update or a piece of one; return the arrivals that make a step, None to wait.

        Raises a WireError to refuse the push. A push that comes too late is dropped and recorded as
        refused, without an error: its device is slow, not faulty, and goes into no quarantine.
        """
        if push.version < self._parameters.oldest:
            self._ledger.refused(push.node, _too_old(push), now)
            return None
        if self._cut:
            self._cut.allow_push(push.node)
        if isinstance(push, UpdateSegment):
            arrival = self._staging.add(push, now)
            if arrival is None:
                return None
        else:
            arrival = Arrival(push, self._codec.decode(push.frames, self._layout))
            self._staging.whole(push.node, now)
        self._pulled.push(push.node)  # one push for each model
        self._ledger.used(push.node)
        self._left_out.back(push.node)
        if self._cut:
            self._cut.forget(push.node, now)
        try:
            return self._synchronizer.arrive(push.node, arrival, now)
        except WireError as late:
            self._pulled.release(push.version)
            self._ledger.refused(push.node, str(late), now)
            return None

    def failed(self, node: str, now: float) -> list[Arrival] | None:
        """Drop the pieces of `node`, whose gradient is not finite; return as `take` does."""
        self._pulled.end(node)
        self._staging.interrupt(node)
        if self._cut:
            self._cut.forget(node, now)
        return self._synchronizer.failed(node, now)

    def step(self, arrivals: Sequence[Arrival], now: float) -> None:
        """Move the model by the mean of the `arrivals`, and write the records of the step.

        Arrivals are refused whose version left the history while they waited for the step.
        """
        for arrival in arrivals:
            self._pulled.release(arrival.update.version)
        arrivals = self._kept(arrivals, now)
        if not arrivals:
            return
        if self._by_name:
            # a sum of floats depends on the order, and the order of arrival on transport
            arrivals = sorted(arrivals, key=lambda arrival: arrival.update.node)
        before = self._parameters.version
        steps = [(arrival.gradient, arrival.update.version) for arrival in arrivals]
        divisors = self._parameters.apply(steps, self._weights(arrivals))
        self._replies.changed([gradient for gradient, _ in steps])
        self._ledger.step(arrivals, divisors, before, now, self._groups)
        self._left_out.step()
        due = (self._patient or self._left_out).take_left_out()
        self._ledger.left_out(due, now)
        if self._cut:
            self._cut.stepped([arrival.update.node for arrival in arrivals])
        oldest = self._pulled.oldest
        version = self._parameters.version if oldest is None else oldest
        self._parameters.forget(version, self._pulled)

    def _kept(self, arrivals: Sequence[Arrival], now: float) -> Sequence[Arrival]:
        """Return the `arrivals` that the history reaches, and refuse the others.

        The memory of a history is bounded, and other compute groups may make any number of steps
        while a push waits for its own.
        """
        oldest = self._parameters.oldest
        for arrival in arrivals:
            if arrival.update.version < oldest:
                self._ledger.refused(arrival.update.node, _too_old(arrival.update), now)
        return [arrival for arrival in arrivals if arrival.update.version >= oldest]

    def _weights(self, arrivals: Sequence[Arrival]) -> list[float] | None:
        weights = self._synchronizer.weights
        return [weights[arrival.update.node] for arrival in arrivals] if weights else None

    # -- activations in, their gradients out -----------------------------------------------------

    def cross(self, message: CutRequest, now: float) -> tuple[Replies, list[Arrival] | None]:
        """Take what crosses the cut; return replies, and the arrivals that make a step if any do.

        Raises a WireError to refuse `message`.
        """
        if self._cut is None:
            raise WireError("the devices of this run hold the whole model")
        step = self._cut.take(message, now)
        arrivals = None
        if self._meeting and isinstance(message, Activations) and not step.replies:
            # it waits for others here, so others must not wait for its push
            arrivals = self._meeting.leave(message.node)
        return self._passed(step, now), arrivals

    def _passed(self, step: CutStep, now: float) -> Replies:
        """Write the records of a step of the server's layers; return its replies."""
        self._ledger.passed(step.passed, now)
        if self._meeting and step.replies:
            self._meeting.expect([node for node, _ in step.replies])
        return [*step.replies, *step.dismissed]


def _staging(parts: ServerParts) -> Staging | PartStaging:
    if parts.shards is None:
        return Staging(parts.codec, parts.layout)
    return PartStaging(parts.codec, parts.layout, parts.shards)


def earliest(*times: float | None) -> float | None:
    """Return the least of `times`, None if all are None. Drivers ask after each message."""
    first: float | None = None
    for time in times:
        if time is not None and (first is None or time < first):
            first = time
    return first


def _too_old(push: Update | UpdateSegment) -> str:
    return f"version {push.version} is older than the history kept"


class Replier(Protocol):
    """Makes replies out of the present model; `PullReplies` documents each part."""

    def changed(self, gradients: Sequence[Gradient]) -> None: ...

    def held(self) -> Vector: ...

    def check(self, pull: Pull) -> None: ...

    def whole(self, pull: Pull) -> PullReply: ...

    def pieces(self, pull: Pull, times: Times | None) -> list[PullReply]: ...


class PullReplies(Stateful):
    """Makes replies out of the present model; all replies to one pull hold the same version."""

    STATE = ("_pulls",)

    def __init__(
        self,
        parameters: State,
        pulls: Pulls,
        layout: Layout,
        shards: ServerShards | None = None,
    ) -> None:
        """`pulls` encodes the models of workers, which pull a part at each of the `shards`."""
        self._parameters, self._pulls, self._layout = parameters, pulls, layout
        self._shards = shards

    def changed(self, gradients: Sequence[Gradient]) -> None:
        """Record that `gradients` made a step of the model."""
        self._pulls.changed(gradients, self._parameters.everywhere)

    def held(self) -> Vector:
        """Return the model as every worker that pulls this version holds it: f32[N], read-only."""
        rounded = self._pulls.rounded(self._parameters.theta)
        return self._parameters.snapshot() if rounded is None else rounded

    def check(self, pull: Pull) -> None:
        """Raise a WireError unless the model can be sent as `pull` asks for it.

        Segments must follow one another from layer 1 and together hold every layer.
        """
        if pull.held is not None and pull.held > self._parameters.version:
            raise WireError(f"{pull.node} cannot hold version {pull.held}")
        if self._shards and pull.segments != self._shards.segments:
            raise WireError(f"{pull.node} pulls other layers than those of the server's shards")
        if not pull.segments:
            return
        behind, layers = 0, len(self._layout.layers)
        for first, last in pull.segments:
            if not behind + 1 == first <= last <= layers:
                raise WireError(f"layers {first} to {last} behind layer {behind} of {layers}")
            behind = last
        if behind != layers:
            raise WireError(f"the segments end at layer {behind} of {layers}")

    def whole(self, pull: Pull) -> ModelReply | Patch:
        """Return the model, or a patch to the version held by the worker, in one message."""
        coded = self._pulls.answer(self._parameters.theta, pull.held)
        if coded is None:
            return ModelReply(pull.ticket, self._parameters.version, self._parameters.snapshot())
        return Patch(pull.ticket, self._parameters.version, coded.base, coded.frames)

    def pieces(self, pull: Pull, times: Times | None) -> list[PullReply]:
        """Return a piece for each segment of `pull`, in order; the first carries `times`, if there
        are any."""
        carried = [times, *[None] * (len(pull.segments) - 1)]
        return [self._piece(pull, *piece) for piece in zip(pull.segments, carried, strict=True)]

    def _piece(self, pull: Pull, segment: Segment, times: Times | None) -> PullReply:
        ticket, version = pull.ticket, self._parameters.version
        coded = self._pulls.answer(self._parameters.theta, pull.held, segment)
        if coded is None:
            theta = self._parameters.snapshot()[self._layout.place(segment)]
            return ModelSegment(ticket, version, segment, theta, times)
        return PatchSegment(ticket, version, segment, coded.base, coded.frames, times)
