"""Messages from the server to a node, with the times at which they arrived."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.wire.messages import Again, Message
from ..core.worker.garbled_question_pace import QuestionPace
from ..shaping.hold import Hold
from .peer import Peer
from .shard_peers import ShardPeers

OFFLINE = 0.5
"""Seconds between two looks for a connection while there is none."""


class Delivery(NamedTuple):
    """A message that has arrived over the emulated link."""

    message: Message
    size: int
    """Bytes on the wire."""
    at: float
    """When it arrived, a reading of the peer's clock."""
    late: bool
    """Whether it was found waiting, so that `at` is an estimate: an upper bound without a hold."""


@dataclass
class Inbox:
    """Messages from the server, held back as long as the emulated link would have taken."""

    peer: Peer | ShardPeers
    hold: Hold[Delivery] | None
    """None: messages are delivered as they arrive."""
    before_hold: Callable[[], None] = lambda: None
    """Called before a message is held; may change the `hold`."""
    due: deque[Delivery] = field(default_factory=deque)
    """Messages to be delivered next."""
    asks_again: bool = False
    """Whether a message with flipped bits may have been the question or its answer."""
    _pace: QuestionPace = field(default_factory=QuestionPace, init=False)
    looked: float = field(init=False)
    """Last time at which no message had arrived."""

    def __post_init__(self) -> None:
        self.looked = self.peer.clock.now()

    def next(self, timeout: float) -> Delivery | None:
        """Return the next message; None if the node has to ask again.

        A node asks again if a new connection has replaced the connection that lost the question or
        its answer, if one connection has brought no answer for `timeout` seconds, and if bits of a
        message were flipped on the way, as soon as its pace allows: it may have been the answer.
        """
        until: float | None = None  # end of the time-out; None while there is no connection
        while True:
            now = self.peer.clock.now()
            self._collect(now)
            self._release(now)
            if self.due:
                return self.due.popleft()
            # a message that is held may be the answer
            if self.peer.lost and self._release_time() is None:
                return None
            if not self.peer.connected:
                until = None
            elif until is None:
                until = now + timeout
            elif now >= until:
                return None
            due = self._pace.due(now) if self.asks_again else math.inf
            if due <= now:
                self.asks_again = False
                self._pace.ask(now)
                return None
            message = self.peer.receive(min(self._wait(until, now), due - now))
            if not self._damaged(message) and message is not None:
                self._take(message, self.peer.clock.now(), None)

    def _collect(self, now: float) -> None:
        """Take the messages that have arrived while the node was computing."""
        while True:
            message = self.peer.receive(0.0)
            if self._damaged(message):
                continue
            if message is None:
                break
            self._take(message, now, self.looked)
        self.looked = now

    def _damaged(self, message: Message | None) -> bool:
        """Return whether `message`, or one of this node that it answers, had flipped bits.

        Then the node asks again, once it has taken the messages that are there.
        """
        damaged = isinstance(message, Again) or (message is None and self.peer.garbled)
        self.asks_again |= damaged
        return damaged

    def _take(self, message: Message, now: float, after: float | None) -> None:
        """Take a `message` read at time `now`; `after` as for `Hold.take`."""
        self._pace.answer()
        size = self.peer.size(message)
        delivery = Delivery(message, size, now, late=after is not None)
        if self.hold is None:
            self.due.append(delivery)
        else:
            self.before_hold()
            self.hold.take(delivery, now, size, after)

    def _release(self, now: float) -> None:
        """Take the messages that the hold releases, each with the due time as arrival."""
        while (release := self._release_time()) is not None and release <= now:
            assert self.hold is not None
            self.due.extend(held._replace(at=release) for held in self.hold.release(release))

    def _wait(self, until: float | None, now: float) -> float:
        """Return the seconds that the peer may wait for a message."""
        wait = OFFLINE if until is None else until - now
        release = self._release_time()
        return wait if release is None else min(wait, release - now)

    def _release_time(self) -> float | None:
        """Return the time at which the next held message is due; None if no message is held."""
        return self.hold.deadline() if self.hold else None
