"""Measures the link of a container from inside: a part of the supervisor, which calls `tick`.

The rate comes from the counters of the queues, at moments at which packets wait. Delay, jitter and
loss come from echoes, which the supervisor sends while nothing waits; of echoes at most a share of
`SHARE` of the link's rate is taken. A report for each direction follows every `WINDOW` seconds.

Packets keep their order: with jitter a packet waits for each one ahead that has drawn a longer
delay. So on a link with jitter an echo measures the delay only if no packet is close ahead.
"""

import os
import selectors
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from ...shaping.box.rewiring import WIRE
from ...world.emulated_clock import UNDILATED, EmulatedClock
from ...world.links.link import WAYS, Link
from ..config import GatewayRole, MeasuredLink, NodeConfig, ProgramRole, ServerRole
from ..interface import InterfaceGoneError, interface_packets
from ..reports import LinkReport
from .echo_meter import Delays, EchoMeter, Lost
from .echo_wire import (
    DOWN_WAITS,
    FRAME,
    PORT,
    SESSION,
    UP_WAITS,
    Reflector,
    open_socket,
    question,
    read_answer,
    receive,
    stamp,
)
from .queue_counters import Queue, QueueReader, losses, rated
from .rate_meter import RateMeter
from .requested import Request, Requested

INTERFACE = "eth0"
"""Device of the node's packets; those behind the box wait for the rate upwards at `WIRE`."""
WINDOW = 10.0
"""Seconds that a report covers."""
EVERY = 0.5
"""Seconds between two echoes, on a link that is fast enough."""
RETRIES = 2
"""Looks for a moment without waiting packets in the time of `EVERY`, where packets wait."""
SHARE = 0.002
"""Largest share of the link's rate that echoes take."""
QUIET = 1000
"""Bytes that may have passed downwards beside an echo: acknowledgements, a heartbeat."""
CLOSE = 4.0
"""Requested jitters from one packet to the next within which the second may wait for the first."""
DEAF = 1.0
"""Seconds for which the server answers nobody after a flood of questions."""
LONGEST_ECHO = 3600.0
"""Seconds. An echo that seems to have taken longer, or less than nothing, met a clock that somebody
has set."""


Losses: TypeAlias = Callable[[], Mapping[str, tuple[int, int]]]
"""Returns the packets of each direction so far, and the lost ones; empty if nobody counts them."""
BoxQueues: TypeAlias = Callable[[], Mapping[str, Queue]]
"""Returns the queue of each direction whose rate the box shapes."""


def link_meter(
    node: NodeConfig, box_losses: Losses = dict, box_queues: BoxQueues = dict
) -> "LinkMeter | None":
    """Return the meter of the link of `node`; None if there is nothing to measure."""
    if node.network.measured is None:
        return None
    if isinstance(node.part, ServerRole | GatewayRole):
        return LinkMeter(node.network.measured, None, node.clock, box_queues=box_queues)
    if isinstance(node.part, ProgramRole):
        server = node.part.server or None
        return LinkMeter(node.network.measured, server, node.clock, box_losses, box_queues)
    # for example tcp://172.18.0.2:5555
    server = node.part.connection.address.split(":")[1].strip("/")
    return LinkMeter(node.network.measured, server, node.clock, box_losses, box_queues)


class Sent(NamedTuple):
    """The state of the link when a question left."""

    down: int
    """Bytes that had passed the queue of the downlink."""
    before: tuple[int, int] | None
    """Packets that the interface had received and sent `CLOSE` jitters before; None: no jitter."""
    alone: bool
    """Whether no packet had left since."""


class LinkMeter:
    """The measurements of a node's link."""

    def __init__(
        self,
        measured: MeasuredLink,
        server: str | None,
        clock: EmulatedClock = UNDILATED,
        box_losses: Losses = dict,
        box_queues: BoxQueues = dict,
    ) -> None:
        """`server`: address of the server; None on the server itself, which only answers.

        `box_losses` returns the counts of the box, where a box loses packets, and `box_queues` its
        queues, where a box shapes rates. All times are those of `clock`, in emulated seconds.
        """
        self.request, self._clock = Request(measured), clock
        self._behind = measured.behind
        self._box_losses, self._ask_box_queues = box_losses, box_queues
        self._server: str | None = None
        self._serves = server is None
        if server is not None:
            with suppress(OSError):  # without a name service, nothing is asked
                self._server = socket.gethostbyname(server)
        self._queues: list[Queue] = []
        self._box_queues: Mapping[str, Queue] = {}
        self._reader: QueueReader | None = None
        with suppress(OSError):  # not on this kernel: rates are not measured
            self._reader = QueueReader()
        self._rates = {way: RateMeter() for way in WAYS}
        self._delays = {way: Delays() for way in WAYS}
        self._lost = {way: Lost() for way in WAYS}
        self._counted: dict[str, tuple[int, int]] = {}
        """By direction: packets and losses of the queues when they were last reported."""
        self._link: Link | None = None
        self._echoes = EchoMeter.named(os.urandom(SESSION))
        slowest = self.request.slowest()
        self._every = max(EVERY, 8 * FRAME / (SHARE * slowest) if slowest else 0.0)
        self._before: tuple[int, int] | None = None
        """Packets of the interface when the wait for the next question began; None: none waits."""
        self._cut = False
        self._begun = self._next = clock.now()
        self.socket: socket.socket | None = None
        self._reflector: Reflector | None = None
        self._selector: selectors.BaseSelector | None = None
        self._deaf = 0.0
        """When the server listens again after too many questions; 0: it listens."""
        with suppress(OSError):  # the port is taken: nothing is asked or answered
            self.socket = self._open(server)

    def _open(self, server: str | None) -> socket.socket | None:
        """Return the socket for echoes; None if the link asks for nothing. Raises OSError."""
        if server is None:
            shared = any(self.request.way(way).rate for way in WAYS)
            self._reflector = Reflector(self._waits if shared else lambda: 0)
            return self._reflector.socket
        asks = self._server is not None and any(self.request.way(way).asks for way in WAYS)
        return open_socket() if asks else None

    def listen(self, selector: selectors.BaseSelector) -> None:
        """Let `selector` call `hear`, as the data of its key."""
        self._selector = selector
        if self.socket is not None:
            selector.register(self.socket, selectors.EVENT_READ, self.hear)

    def due(self) -> float:
        """Return the time of the next `tick`."""
        times = [self._begun + WINDOW, *([self._deaf] if self._deaf else [])]
        if self._reader is not None:
            times += [self._rates[way].due for way in WAYS if self.request.way(way).rate]
        if self._server is not None and self.socket is not None:
            times.append(self._next)
        return min(times)

    def tick(self, now: float, link: Link | None, *, cut: bool) -> None:
        """Do what is due at the time `now`.

        `link`: the link in force, if faults change it; `cut`: whether a fault has cut it.
        """
        if cut != self._cut or self._passage(link) != self._passage(self._link):
            self._take_losses()
            self._echoes.renew(os.urandom(SESSION))
        self._cut, self._link = cut, link
        if self._deaf and now >= self._deaf and self._selector and self.socket:
            self._deaf = 0.0
            self._selector.register(self.socket, selectors.EVENT_READ, self.hear)
        asking = self._server is not None and self.socket is not None and now >= self._next
        looking = [
            way
            for way in WAYS
            if now >= self._rates[way].due and self._reader and self.request.way(way, link).rate
        ]
        if asking or looking:
            self._read()
        seen = self._clock.now()  # on a busy host later than `now`
        for way in looking:
            rate = None if cut else self.request.way(way, link).rate
            self._rates[way].look(seen, self._rated(way), rate)
        if asking:
            self._consider(now, asks=not cut and not self._waiting("up"))

    def _passage(self, link: Link | None) -> list[tuple[float, float, float]]:
        """Return the requests that echoes measure; a rate may change while echoes are under way."""
        ways = [self.request.way(way, link) for way in WAYS]
        return [(asked.delay, asked.jitter, asked.loss) for asked in ways]

    # -- echoes ----------------------------------------------------------------------------------

    def _consider(self, now: float, *, asks: bool) -> None:
        """Ask, or wait for a better moment: on a link with jitter packets are counted before."""
        close = CLOSE * max(self.request.way(way, self._link).jitter for way in WAYS)
        before, self._before = self._before, None
        if asks and close and before is None:
            self._before, self._next = _packets(), now + close
            return
        self._next = now + (self._every if asks else self._every / RETRIES)
        if asks:
            self._ask(before)

    def _ask(self, before: tuple[int, int] | None) -> None:
        down = self._rated("down")
        alone = before is None or _packets()[1] == before[1]
        at = stamp()
        number = self._echoes.ask(at, Sent(0 if down is None else down.sent, before, alone))
        with suppress(OSError):  # the network is unreachable: the echo counts as lost
            assert self.socket is not None
            place = (self._server, PORT)
            self.socket.sendto(question(self._echoes.session.name, number), place)

    def hear(self) -> None:
        """Take what has arrived on `socket`."""
        if self._reflector is not None:
            if self._reflector.reflect() and self._selector and self.socket:
                self._selector.unregister(self.socket)
                self._deaf = self._clock.now() + DEAF
            return
        assert self.socket is not None
        got = receive(self.socket)
        if got is None or (answer := read_answer(got[0])) is None:
            return
        asked = self._echoes.take(answer)
        if asked is None:
            return
        sent = asked.state
        assert isinstance(sent, Sent)
        if not answer.waits & UP_WAITS and sent.alone:
            self._add("up", answer.arrived - asked.at)
        if not answer.waits & DOWN_WAITS and self._quiet(sent):
            self._add("down", got[1] - answer.left)

    def _add(self, way: str, nanoseconds: int) -> None:
        seconds = self._clock.emulated(nanoseconds / 1e9)
        asked = self.request.way(way, self._link)
        if 0 <= seconds < LONGEST_ECHO:
            self._delays[way].add(seconds, asked.delay, asked.jitter)

    def _quiet(self, sent: Sent) -> bool:
        """Return whether the echo that was `sent` waited for no other packet on the way down."""
        if sent.before is not None and _packets()[0] > sent.before[0] + 1:
            return False
        if not self.request.way("down", self._link).rate:
            return True
        self._read()
        down = self._rated("down")
        return down is not None and down.sent - sent.down <= QUIET

    # -- queues ----------------------------------------------------------------------------------

    def _read(self) -> None:
        if self._reader is None:
            return
        try:
            self._queues = self._reader.read()
        except OSError:
            self._reader.close()
            self._reader, self._queues = None, []
        self._box_queues = self._ask_box_queues()

    def _rated(self, way: str) -> Queue | None:
        """Return the queue that keeps the rate of `way`, with the bytes that the rate is charged
        for; None if no queue does."""
        if (box := self._box_queues.get(way)) is not None:
            return box
        outer = _index(WIRE) or _index(INTERFACE)
        queue, link = rated(self._queues, outer, outgoing=way == "up"), self._link
        overhead = getattr(self.request.link if link is None else link, way).overhead
        if queue is None or not overhead:
            return queue
        return replace(queue, sent=queue.sent + overhead * queue.packets)

    def _waiting(self, way: str) -> bool:
        queue = self._rated(way)
        return queue is not None and queue.waiting > 0

    def _waits(self) -> int:
        """Return the flags of the directions in which packets wait at the server."""
        self._read()
        # what goes up to the server comes in here
        return UP_WAITS * self._waiting("down") + DOWN_WAITS * self._waiting("up")

    # -- reports ---------------------------------------------------------------------------------

    def report(self, now: float, say: Callable[[LinkReport], None], *, last: bool = False) -> None:
        """Say what was measured since the last report, if a window is over, or at the `last`."""
        if now < self._begun + WINDOW and not last:
            return
        lasts, self._begun = now - self._begun, now
        self._take_losses()
        if last:
            for meter in self._rates.values():
                meter.look(now, None, None)  # ends a stretch in which packets wait
        for way in WAYS:
            asked = self.request.way(way, self._link)
            if asked.asks:
                facts = dict(self._facts(way, asked))
                say(LinkReport(way, round(lasts, 3), behind=self._behind, **facts))
            self._delays[way], self._lost[way] = Delays(), Lost()

    def _facts(self, way: str, asked: Requested) -> Iterator[tuple[str, Any]]:
        busy, delays, lost = self._rates[way].take(), self._delays[way], self._lost[way]
        if asked.rate:
            requested = busy.requested / busy.seconds if busy.seconds else asked.rate
            yield "requested_rate", round(requested, 1)
        if busy.seconds:
            yield "busy", round(busy.seconds, 3)
            yield "rate", round(busy.bits / busy.seconds, 1)
            yield "stretches", busy.stretches
        if self._serves:
            return
        if asked.held:
            yield "held", round(asked.held, 6)
        if delays.late:
            yield "late", delays.late
        if delays.count:
            yield "echoes", delays.count
            yield "delay", round(delays.mean, 6)
            yield "jitter", round(delays.deviation, 6)
            yield "requested_delay", round(delays.requested / delays.count, 6)
            yield "requested_jitter", round((delays.jitters / delays.count) ** 0.5, 6)
        elif asked.delay:
            yield "requested_delay", round(asked.delay, 6)
            yield "requested_jitter", round(asked.jitter, 6)
        if loss := lost.expected / lost.packets if lost.expected else asked.loss:
            yield "requested_loss", round(loss, 9)
        if asked.bursts or lost.bursts:
            yield "bursts", True
        if lost.packets:
            yield "packets", lost.packets
            yield "lost", lost.lost

    def _take_losses(self) -> None:
        """Add the losses since the last call: of the queues or the box, else of echoes.

        The link since then was one: a change of the requested loss and a cut call this before.
        """
        by_echoes = dict(zip(WAYS, self._echoes.losses(), strict=True))
        counted = self._counts()
        for way in WAYS:
            asked, found = self.request.way(way, self._link), by_echoes[way]
            before, now = self._counted.get(way, (0, 0)), counted.get(way)
            if now is not None:
                self._counted[way] = now
                # a cut loses every packet: echoes see the path; with lower counts the queue is new
                if asked.loss and not self._cut and now[0] >= before[0] and now[1] >= before[1]:
                    found = Lost(now[0] - before[0], now[1] - before[1])
            self._lost[way].add(found, asked.loss, bursts=asked.bursts)

    def _counts(self) -> dict[str, tuple[int, int]]:
        """Return packets and losses of the directions whose losses somebody counts, so far."""
        if not self.request.alone:
            return {}  # echoes see the whole path
        self._read()
        own = _index(INTERFACE)
        counts = {way: losses(self._queues, own, outgoing=way == "up") for way in WAYS}
        known = {way: count for way, count in counts.items() if count is not None}
        return {**known, **self._box_losses()}

    def close(self) -> None:
        for end in (self.socket, self._reader):
            if end is not None:
                end.close()


def _index(device: str) -> int:
    """Return the index of the network device `device`; 0 if there is none."""
    try:
        return socket.if_nametoindex(device)
    except OSError:
        return 0


def _packets() -> tuple[int, int]:
    """Return the packets that the interface has received and sent; zeros without an interface."""
    with suppress(InterfaceGoneError):
        return interface_packets()
    return 0, 0
