"""One direction of access links in virtual time: exact, and where wanted with TCP's habits.

A message queues behind those before it, holds the link for its setup and for its frames at
the link's rate, then propagates. All devices of a group have the same law, so their lines are kept
together: one that stands still costs a few bytes, only what is being sent is an object.

A cut stops what is being sent, and it goes on where it was; what has left arrives. TCP, where
it is modelled, opens its window anew after a pause, stays below what loss allows, finds out
about the end of a cut only when it next tries, and then opens its window slowly.
"""

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from ....world.link import FRAME
from ..clock.heap import Heap
from .connections import Connections, Start
from .server_link import ServerLink
from .tcp import Tcp

BITS = 8 * FRAME
"""On the link, for each byte of a message."""


@dataclass(frozen=True)
class LinkConstants:
    """What the lines of a group have in common: both ends' sides together, in seconds."""

    rate: float
    """Bits of frames a second, of the device's side as loss leaves it; may be infinite."""
    delay: float = 0.0
    jitter: float = 0.0
    setup: float = 0.0
    tcp: Tcp | None = None


class _Message(NamedTuple):
    size: int
    deliver: Callable[..., None]
    arguments: tuple[Any, ...]


class _Sending:
    """What one device's line is busy with: one message, and those behind it."""

    __slots__ = (
        *("bits", "crossed", "epoch", "gap", "lines", "message", "queue", "setup", "shared"),
        *("since", "stalled", "start", "who"),
    )

    def __init__(self, lines: "LinkGroup", who: int, message: _Message) -> None:
        self.lines = lines
        self.who = who
        self.message = message
        self.queue: list[_Message] | None = None
        self.epoch = 0  # a planned event of an earlier one is void
        self.gap = 0.0  # seconds to go, alone
        self.bits = 0.0  # then bits to go, on the server's link
        self.since = 0.0  # when `gap` was so much
        self.shared = False  # whether it is on the server's link now
        self.stalled: float | None = None  # since when TCP tries in vain
        self.crossed = 0  # bytes of the message that have been counted: no counter falls
        self.setup = 0.0  # seconds of the link's setup to go, when `gap` was so much
        self.start: Start | None = None  # where TCP stood when the message began or went on

    def through(self) -> None:
        self.lines.sent(self)


class LinkGroup:
    """One direction of the links of devices alike, which are known by number."""

    def __init__(
        self,
        heap: Heap,
        law: LinkConstants,
        devices: int,
        dice: Callable[[int], Random],
        access: ServerLink | None = None,
    ) -> None:
        """`dice` are each device's own, for jitter; `access` the server's side, if it is rated."""
        self._heap, self._law, self._dice, self._access = heap, law, dice, access
        self._sending: list[_Sending | None] = [None] * devices
        self._cut: dict[int, float] = {}
        self._carried = array("q", bytes(8 * devices))
        self._arrived = array("d", bytes(8 * devices)) if law.jitter else None
        self._connections = Connections(law.tcp, law.rate, devices) if law.tcp else None

    # -- what devices and faults do --------------------------------------------------------------

    def send(self, who: int, size: int, deliver: Callable[..., None], *arguments: Any) -> None:
        """Call `deliver` with the arguments when a message of so many bytes has arrived."""
        message = _Message(size, deliver, arguments)
        busy = self._sending[who]
        if busy is None:
            busy = self._sending[who] = _Sending(self, who, message)
            self._begin(busy)
        elif busy.queue is None:
            busy.queue = [message]
        else:
            busy.queue.append(message)

    def cut(self, who: int) -> None:
        """Nothing leaves any more, until `mend`."""
        busy = self._sending[who]
        if busy is not None and not self._leaving(busy):
            self._pause(busy)
        self._cut[who] = self._heap.now

    def mend(self, who: int) -> None:
        """What was under way goes on: at once, or when TCP tries again."""
        now, since, busy = self._heap.now, self._cut.pop(who), self._sending[who]
        if busy is None:
            return
        tcp = self._law.tcp
        if tcp is None:
            self._resume(busy)
            return
        if busy.stalled is None:
            busy.stalled = max(since, busy.since)
        self._heap.at(tcp.resumed(busy.stalled, now), self._retry, busy, busy.epoch)

    def drop(self, who: int) -> None:
        """The connection is gone, and with it all that has not left; the line is as new."""
        if busy := self._sending[who]:
            self._sending[who] = None
            self._carried[who] += self._progress(busy)  # a part has crossed all the same
            self._pause(busy)
        self._cut.pop(who, None)
        if self._connections is not None:
            self._connections.reset(who)

    def reconnect(self, who: int, *, resend: bool) -> bool:
        """After a cut so long that the connection died: what was being sent is lost.

        What waited behind it goes on if `resend`: a device's end keeps it, the server's does not.
        Return whether anything goes on.
        """
        behind = busy.queue if (busy := self._sending[who]) and resend else None
        self.drop(who)
        for message in behind or ():
            self.send(who, message.size, message.deliver, *message.arguments)
        return bool(behind)

    def carried(self, who: int) -> int:
        """Bytes of messages that this device's line has passed so far."""
        busy = self._sending[who]
        return self._carried[who] + (self._progress(busy) if busy else 0)

    # -- one message -----------------------------------------------------------------------------

    def _begin(self, busy: _Sending) -> None:
        law, who, size, now = self._law, busy.who, busy.message.size, self._heap.now
        busy.stalled, busy.since = None, now
        busy.gap, busy.bits = law.setup, size * BITS
        busy.setup, busy.crossed = law.setup, 0
        connections = self._connections
        if who in self._cut:
            if connections is not None:
                busy.start = connections.wait(who, now)
            return
        if connections is not None:
            # TCP opens its window, the link standing idle; what an idle shaper saved up is free
            idle, credit, busy.start = connections.open(who, size, now)
            busy.gap += idle
            busy.bits = max(0.0, busy.bits - credit)
        self._resume(busy)

    def _resume(self, busy: _Sending) -> None:
        busy.since, busy.stalled = self._heap.now, None
        if self._access is None:  # then nobody else decides when it is through
            busy.gap += busy.bits / self._law.rate
            busy.bits = 0.0
        if busy.gap:
            self._heap.at(busy.since + busy.gap, self._enter, busy, busy.epoch)
        else:
            self._enter(busy, busy.epoch)

    def _retry(self, busy: _Sending, epoch: int) -> None:
        """After a time-out TCP begins with a single segment."""
        if busy.epoch != epoch or self._connections is None:
            return
        idle, busy.start = self._connections.recover(busy.who, busy.bits / BITS)
        busy.gap = busy.setup + idle
        self._resume(busy)

    def _enter(self, busy: _Sending, epoch: int) -> None:
        if busy.epoch != epoch:
            return
        busy.gap = 0.0
        if self._access is None or not busy.bits:
            self.sent(busy)
        else:
            busy.shared = True
            self._access.join(busy, busy.bits, self._law.rate)

    def _leaving(self, busy: _Sending) -> bool:
        """Whether its last bit leaves at this very moment."""
        if busy.shared and self._access:
            return self._access.left(busy, self._law.rate) <= 0
        return not busy.bits and busy.stalled is None and busy.since + busy.gap <= self._heap.now

    def _pause(self, busy: _Sending) -> None:
        """Stop what is being sent: its `crossed` stays, its `bits` are those that are left."""
        busy.epoch += 1
        if busy.stalled is not None:
            return
        self._progress(busy)
        elapsed = self._heap.now - busy.since
        if busy.shared and self._access:
            busy.bits = self._access.leave(busy, self._law.rate)
            busy.shared = False
        else:
            busy.gap = max(0.0, busy.gap - elapsed)
        if self._connections is not None and busy.start is not None:
            self._connections.stall(busy.who, elapsed - busy.setup, busy.start)
            if not busy.bits and busy.gap:  # `_retry` makes a new gap of them
                busy.bits = min(busy.message.size * BITS, busy.gap * self._law.rate)
        busy.setup = max(0.0, busy.setup - elapsed)
        busy.since = self._heap.now

    def sent(self, busy: _Sending) -> None:
        """Its last bit has left: it arrives when it has propagated, never before the one before."""
        who, (size, deliver, arguments) = busy.who, busy.message
        self._carried[who] += size
        self._heap.at(self._due(who), deliver, *arguments)
        busy.epoch += 1
        busy.shared = False
        if self._connections is not None:
            self._connections.rested[who] = self._heap.now
        if busy.queue:
            busy.message = busy.queue.pop(0)
            self._begin(busy)
        else:
            self._sending[who] = None

    def _due(self, who: int) -> float:
        law, now = self._law, self._heap.now
        if self._arrived is None:
            return now + law.delay
        # normal, cut off at four deviations, as netem draws it
        deviation = min(4.0, max(-4.0, self._dice(who).gauss()))
        due = max(now + law.delay + law.jitter * deviation, now, self._arrived[who])
        self._arrived[who] = due
        return due

    def _progress(self, busy: _Sending) -> int:
        """Bytes of its message that have left so far. While the line stands still they stay."""
        if busy.stalled is None and busy.who not in self._cut:
            left = math.ceil(self._left(busy) / BITS)
            busy.crossed = max(busy.crossed, busy.message.size - left)
        return busy.crossed

    def _left(self, busy: _Sending) -> float:
        """Bits of its message that have not left, the line being at it."""
        rate = self._law.rate
        if busy.shared and self._access:
            return self._access.left(busy, rate)
        if busy.bits or rate == math.inf:
            return busy.bits
        return max(0.0, busy.gap - (self._heap.now - busy.since)) * rate
