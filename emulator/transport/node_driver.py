"""Runs the coroutine of a worker or the evaluator on a DEALER socket and its emulated clock.

`Farewell` says a device's goodbye when a signal asks for it, also while a gradient is computed.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from ..core.wire.messages import (
    Leave,
    Message,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Pull,
    Request,
    Score,
    Update,
    UpdateSegment,
)
from ..core.worker.worker import Await, Begun, NodeCoroutine, Tell
from ..errors import WireError
from ..pulls import HeldModel, HeldParts
from .inbox import Delivery, Inbox
from .peer import Peer
from .shard_peers import ShardPeers
from .work import Computing, Work


class SentPushes:
    """Sends the messages of a node over `peer`, pushes with a number, and again if need be.

    A push has no answer of its own: the answer to the next pull tells that it arrived. If the
    connection breaks before, nobody knows, and the push is sent again before the pull. The server
    knows a push that it has by its ticket.
    """

    def __init__(self, peer: Peer | ShardPeers) -> None:
        self._peer = peer
        self._ticket: int | None = None  # of the last pull
        self._pushes: list[Request] = []  # since the last model came
        self._breaks = peer.breaks  # broken connections by then
        self.model_breaks = peer.breaks
        """Broken connections by the time when the last model came."""

    def send(self, message: Request) -> Request:
        """Send `message`, a push with its ticket; return the sent message."""
        self._peer.look()
        if isinstance(message, Pull):
            self._ticket = message.ticket
            self._peer.put([*self._lost(), message])
            return message
        if isinstance(message, Update):
            message = replace(message, ticket=self._ticket)
        if isinstance(message, Update | UpdateSegment | Score):
            if not self._pushes:
                self._breaks = self._peer.breaks
            self._pushes.append(message)
        self._peer.put([message])
        return message

    def took(self, message: Message) -> None:
        """Note an answer of the server: with the model of the last pull all pushes have arrived."""
        models = ModelReply | Patch | ModelSegment | PatchSegment
        if isinstance(message, models) and message.ticket == self._ticket:
            self._pushes.clear()
            self.model_breaks = self._peer.breaks

    def _lost(self) -> list[Request]:
        """Return the pushes that a broken connection may have lost."""
        if self._breaks == self._peer.breaks:
            return []
        self._breaks = self._peer.breaks
        return self._pushes


@dataclass(frozen=True)
class RunObserver:
    """Functions that are told what becomes of a node's run."""

    begun: Callable[[float], None] = lambda zero: None
    """Called with the run's zero, a time of the server's clock."""
    pushed: Callable[[], None] = lambda: None
    """Called once an update has been sent."""


def run(
    coroutine: NodeCoroutine[Any],
    peer: Peer | ShardPeers,
    work: Work,
    *,
    inbox: Inbox | None = None,
    held_model: HeldModel | HeldParts | None = None,
    computing: Computing = nullcontext,
    observer: RunObserver = RunObserver(),
    durable: bool = False,
) -> None:
    """Run `coroutine` to its end: carry out each command and send back the result.

    `work` does the commands that compute; a context of `computing` holds meanwhile. `inbox` takes
    the messages of `peer`; None: as they arrive. `held_model` keeps the model if pulls are patches
    or carry coded values. With `durable`, pushes are numbered, and sent again if a connection may
    have lost them.
    """
    pushes = SentPushes(peer) if durable else None
    exchange = _Exchange(peer, inbox or Inbox(peer, None), held_model, work, pushes)
    result: Any = None
    try:
        while True:
            command = coroutine.send(result)
            result = None
            work.pace.rest()
            match command:
                case Tell(message):
                    exchange.send(message)
                    if isinstance(message, Update):
                        observer.pushed()
                case Await(timeout):
                    result = exchange.next(timeout)
                case Begun(zero):
                    observer.begun(zero)
                    work.started(zero)
                case _:
                    result = work.do(command, computing)
    except StopIteration:
        work.close()


class _Exchange:
    """The messages of a node with the server, and the model that they carry."""

    def __init__(
        self,
        peer: Peer | ShardPeers,
        inbox: Inbox,
        held_model: HeldModel | HeldParts | None,
        work: Work,
        pushes: SentPushes | None,
    ) -> None:
        self._peer, self._inbox, self._held_model, self._work = peer, inbox, held_model, work
        self._pushes = pushes
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
        self._work.sent(message, self._peer.size(message), now)

    def _held_version(self, held_model: HeldModel | HeldParts) -> int | None:
        """Return the version of the held model; forget the model if the server may have."""
        if self._pushes and self._pushes.model_breaks != self._peer.breaks:
            held_model.forget()  # the server may have come back with an older model
        return held_model.version

    def next(self, timeout: float) -> Message | None:
        """Return the next message, with models decoded; None if the node has to ask again."""
        delivery = self._inbox.next(timeout)
        self._work.pace.begin()
        if delivery is None:
            return None
        message = delivery.message
        if self._pushes:
            self._pushes.took(message)
        match message:
            case ModelReply() | Patch() if isinstance(self._held_model, HeldModel):
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
        else:
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
    reply: ModelSegment | PatchSegment, held_model: HeldModel | HeldParts | None
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


FLUSH = 60.0
"""Seconds for which the goodbye may wait for the link; the supervisor ends the process before."""


class Farewell(threading.Thread):
    """Waits for a signal; then says goodbye for `node` over `peer`, and ends the process with 0.

    Two threads must not use a socket of libzmq at once. The main thread holds a lock, and gives it
    away while it computes, which may take seconds, or when this thread wakes it from a wait.
    """

    def __init__(self, node: str, peer: Peer | ShardPeers, asked_by: signal.Signals) -> None:
        """Take the signal `asked_by` from here on.

        Call this in the main thread, which uses `peer`.
        """
        super().__init__(name="farewell", daemon=True)
        self._node, self._peer = node, peer
        self._socket = threading.Lock()
        self._socket.acquire()
        # The interpreter calls a handler in the main thread, and only between two instructions of
        # Python. To this descriptor it writes at once.
        self._asked, written = os.pipe()
        os.set_blocking(written, False)
        woken, self._wakes = os.pipe()
        peer.interrupt(woken, self._give_way)
        signal.set_wakeup_fd(written)
        signal.signal(asked_by, lambda number, frame: None)
        self.start()

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Let the goodbye be said while the main thread computes, and does not use the socket."""
        self._socket.release()
        try:
            yield
        finally:
            self._socket.acquire()

    def run(self) -> None:
        os.read(self._asked, 1)
        os.write(self._wakes, b"!")
        with self._socket:
            self._peer.send(Leave(self._node))
            self._peer.flush(FLUSH)
            os._exit(0)

    def _give_way(self) -> None:
        """Let the goodbye be said; the process ends meanwhile."""
        self._socket.release()
        self.join()
