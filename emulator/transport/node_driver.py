"""Runs the coroutine of a worker or the evaluator on a DEALER socket and its emulated clock."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from ..core.cut_commands import Activate, ActivationsBack, LossAt
from ..core.messages import (
    Message,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Pull,
    Request,
    Update,
)
from ..core.worker import (
    Await,
    Backward,
    Begun,
    Compute,
    Computed,
    Evaluate,
    Forward,
    NodeCoroutine,
    Tell,
)
from ..errors import WireError
from ..learners.base import Evaluator, Learner
from ..pulls import HeldModel
from ..shaping.hold import Hold
from ..vectors import Vector
from ..world.emulated_clock import EmulatedClock
from ..world.pace import WorkPace
from .cut_work import CutWork
from .inbox import Delivery, Inbox
from .peer import Peer
from .segment_work import SegmentWork
from .sent_pushes import SentPushes


def run(
    coroutine: NodeCoroutine[Any],
    peer: Peer,
    *,
    hold: Hold[Delivery] | None = None,
    learner: Learner | None = None,
    work: SegmentWork | None = None,
    cut: CutWork | None = None,
    evaluator: Evaluator | None = None,
    held_model: HeldModel | None = None,
    begun: Callable[[float], None] = lambda zero: None,
    before_gradient: Callable[[], None] = lambda: None,
    before_hold: Callable[[], None] = lambda: None,
    computing: Callable[[], AbstractContextManager[None]] = nullcontext,
    pushed: Callable[[], None] = lambda: None,
    durable: bool = False,
) -> None:
    """Run `coroutine` to its end: carry out each command and send back the result.

    `hold` delays messages from the server. `work` computes layer by layer, `cut` the layers
    before a cut. `held_model` keeps the model if pulls are patches or carry coded values. `begun`
    is called with the run's zero, `before_hold` before a message is held. `before_gradient` is
    called before each gradient, and need not return. A context of `computing` holds while the node
    computes and does not use `peer`. With `durable`, pushes are numbered, and sent again if a
    connection may have lost them.
    """
    pushes = SentPushes(peer) if durable else None
    pace = WorkPace(peer.clock)
    inbox = Inbox(peer, hold, before_hold)
    exchange = _Exchange(peer, inbox, held_model, work, pushes, pace)

    def prepared() -> None:
        before_gradient()  # may wait
        pace.begin()

    result: Any = None
    try:
        while True:
            command = coroutine.send(result)
            result = None
            pace.rest()
            match command:
                case Tell(message):
                    exchange.send(message)
                    if isinstance(message, Update):
                        pushed()
                case Await(timeout):
                    result = exchange.next(timeout)
                case Begun(zero):
                    begun(zero)
                    if work:
                        work.started(zero)
                case Compute(reply) if learner:
                    with computing():
                        prepared()
                        result = _compute(learner, reply.theta, peer.clock, pace)
                case Forward(reply) if work:
                    with computing():
                        if reply.segment[0] == 1:
                            prepared()
                        work.forward(reply)
                case Backward(segment) if work:
                    with computing():
                        result = work.backward(segment)
                case Activate(reply) if cut:
                    with computing():
                        prepared()
                        result = cut.activate(reply.theta)
                case LossAt(answer) if cut:
                    result = cut.loss_at(answer)
                case ActivationsBack(answer) if cut:
                    with computing():
                        result = cut.back(answer)
                case Evaluate(theta) if evaluator:
                    result = evaluator.evaluate(theta)
                case _:
                    raise TypeError(f"this node cannot carry out {command}")
    except StopIteration:
        if work:
            work.close()


class _Exchange:
    """The messages of a node with the server, and the model that they carry."""

    def __init__(
        self,
        peer: Peer,
        inbox: Inbox,
        held_model: HeldModel | None,
        work: SegmentWork | None,
        pushes: SentPushes | None,
        pace: WorkPace,
    ) -> None:
        self._pushes, self._pace = pushes, pace
        self._peer, self._inbox, self._held_model, self._work = peer, inbox, held_model, work
        self._ticket: int | None = None
        """Ticket of the last pull; None once a piece of its answer did not decode."""

    def send(self, message: Request) -> None:
        """Send `message` to the server; a pull names the version that the node holds."""
        if isinstance(message, Pull):
            self._ticket = message.ticket
            if self._held_model:
                message = replace(message, held=self._held_version(self._held_model))
        now = self._peer.clock.now()
        if self._pushes:
            message = self._pushes.send(message)
        else:
            self._peer.send(message)
        if self._work:
            self._work.sent(message, self._peer.size(message), now)

    def _held_version(self, held_model: HeldModel) -> int | None:
        """Return the version of the held model; forget the model if the server may have."""
        if self._pushes and self._pushes.model_breaks != self._peer.breaks:
            held_model.forget()  # the server may have come back with an older model
        return held_model.version

    def next(self, timeout: float) -> Message | None:
        """Return the next message, with models decoded; None if the node has to ask again."""
        delivery = self._inbox.next(timeout)
        self._pace.begin()
        if delivery is None:
            return None
        message = delivery.message
        if self._pushes:
            self._pushes.took(message)
        match message:
            case ModelReply() | Patch() if self._held_model:
                return _decoded(message, self._held_model)
            # pieces of the answer to an earlier pull would break the order of this one's
            case ModelSegment() | PatchSegment() if message.ticket == self._ticket:
                return self._piece(message, delivery)
        return message

    def _piece(self, reply: ModelSegment | PatchSegment, delivery: Delivery) -> ModelSegment | None:
        """Return the piece of the model in `reply`, decoded; None if it does not decode."""
        piece = _decoded_piece(reply, self._held_model)
        if piece is None:
            self._ticket = None
        elif self._work:
            self._work.arrived(piece, delivery.size, delivery.at, delivery.late)
        return piece


def _decoded(reply: ModelReply | Patch, held_model: HeldModel) -> ModelReply | None:
    """Return `reply` with the whole model, and keep the model in `held_model`.

    A reply that does not decode, or patches another version, returns None and empties `held_model`:
    the node asks again and gets the whole model.
    """
    try:
        if isinstance(reply, ModelReply):
            theta = held_model.store(reply.version, reply.theta)
        else:
            theta = held_model.decode(reply.version, reply.frames, reply.base)
    except WireError:
        held_model.forget()
        return None
    return ModelReply(reply.ticket, reply.version, theta)


def _decoded_piece(
    reply: ModelSegment | PatchSegment, held_model: HeldModel | None
) -> ModelSegment | None:
    """Return `reply` with the parameters of its segment, and keep them in `held_model` if given.

    A piece that does not decode, patches another version, or does not follow the piece before it
    returns None and empties `held_model`: the node asks again and gets the whole model.
    """
    try:
        if isinstance(reply, ModelSegment):
            if held_model is None:
                return reply
            theta = held_model.store_segment(reply.version, reply.segment, reply.theta)
        elif held_model is None:
            return None
        else:
            theta = held_model.decode_segment(
                reply.version, reply.segment, reply.frames, reply.base
            )
    except WireError:
        if held_model:
            held_model.forget()
        return None
    return ModelSegment(reply.ticket, reply.version, reply.segment, theta, reply.times)


def _compute(
    learner: Learner, theta: Vector, clock: EmulatedClock, pace: WorkPace
) -> Computed[Vector]:
    began = clock.now()
    gradient, loss = learner.gradient(theta)
    pace.rest()
    return Computed(gradient, loss, clock.now() - began)
