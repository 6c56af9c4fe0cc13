"""One direction of the access links of a group of devices: exact, and if wanted with TCP's habits.

A message queues behind those before it, holds the link for its setup and for its frames at the
link's rate, then propagates. All links of a group have the same constants and are kept together: an
idle link costs a few bytes in arrays, and only a link that is busy has an object, its Transmission.

A cut stops the message that is leaving; messages that have left arrive. After the cut an ideal link
goes on where it was. Modelled TCP notices the end of a cut at its next retry, and then opens its
window slowly. It also opens the window anew after a pause, and stays below the rate that loss
allows.

A fault may give a link constants of its own, at any time. The rest of the message that is leaving
goes on at the new rate; with TCP the window is as wide as it was, and opens for the new link.
Messages that have left arrive as they would have.
"""

import math
from array import array
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from ....world.links.delay_draws import DelayDraws, Jitter
from ..clock import Heap
from .connections import Connections
from .transmission import BITS, LinkConstants, QueuedMessage, Transmission


class SharedRate(Protocol):
    """A rate that the flows of several devices share, as of `ServerLink`."""

    def join(self, flow: Transmission, bits: float, own_rate: float, /) -> None: ...
    def leave(self, flow: Transmission, own_rate: float, /) -> float: ...
    def left(self, flow: Transmission, own_rate: float, /) -> float: ...


class LinkGroup:
    """The links of a group. `number` is a device's index in the group."""

    def __init__(
        self,
        clock: Heap,
        constants: LinkConstants,
        devices: int,
        dice: Callable[[int], Random],
        server_link: SharedRate | None = None,
        *,
        changing: bool = False,
        losses: Callable[[int], Random] | None = None,
    ) -> None:
        """`dice(number)` draws a device's jitter, and `losses(number)` its losses in bursts, `dice`
        too by default.

        `server_link` is the server's side, with the bottlenecks before it; None means that none has
        a rate, so nothing is shared.
        `changing`: whether `reshape` may be called.
        """
        self._clock, self._constants, self._dice = clock, constants, dice
        self._server_link = server_link
        self._busy: list[Transmission | None] = [None] * devices
        self._draws: dict[int, tuple[tuple[Jitter, ...], DelayDraws]] = {}
        self._cut: dict[int, float] = {}  # number of a device that is cut off: since when
        self._carried = array("q", bytes(8 * devices))  # bytes, without those of busy links
        self._own: dict[int, LinkConstants] = {}  # of the links that a fault has changed
        # arrival of each device's last message, which none may overtake; only jitter could do that,
        # and a delay that has become shorter
        in_order = changing or constants.jitter or constants.jitters
        self._arrived = array("d", bytes(8 * devices)) if in_order else None
        tcp = constants.tcp
        self._connections = (
            Connections(tcp, constants.rate, devices, losses or dice) if tcp else None
        )

    # -- for devices and faults ------------------------------------------------------------------

    def send(self, number: int, size: int, deliver: Callable[..., None], *arguments: Any) -> None:
        """Call `deliver(*arguments)` once a message of `size` bytes has arrived."""
        message = QueuedMessage(size, deliver, arguments)
        busy = self._busy[number]
        if busy is None:
            busy = self._busy[number] = Transmission(self, number, message)
            self._begin(busy)
        elif busy.queue is None:
            busy.queue = [message]
        else:
            busy.queue.append(message)

    def cut(self, number: int) -> None:
        """Let nothing leave until `mend`, if anything leaves yet."""
        if number in self._cut:
            return
        busy = self._busy[number]
        if busy is not None and not self._leaving(busy):
            self._pause(busy)
        self._cut[number] = self._clock.now

    def mend(self, number: int) -> None:
        """Let the message that was leaving go on: at once, or when TCP next tries."""
        now, since, busy = self._clock.now, self._cut.pop(number), self._busy[number]
        if busy is None:
            return
        tcp = self._of(number).tcp
        if tcp is None:
            self._resume(busy)
            return
        if busy.stalled is None:  # else TCP has been trying since an earlier cut
            busy.stalled = max(since, busy.since)
        self._clock.at(tcp.resumed(busy.stalled, now), self._retry, busy, busy.epoch)

    def drop(self, number: int) -> None:
        """Forget the connection and every message not sent yet; the link is as new."""
        if busy := self._busy[number]:
            self._busy[number] = None
            self._carried[number] += self._progress(busy)  # the bytes that did cross stay counted
            self._pause(busy)
        self._cut.pop(number, None)
        if self._connections is not None:
            self._connections.reset(number)
            self._connections.owe(number, busy.silence if busy else 0.0)

    def reconnect(self, number: int, *, resend: bool) -> bool:
        """Begin a new connection after a long cut has killed the old connection.

        The message that was leaving is lost. With `resend` the messages behind it are sent: a
        device's end keeps them, the server's end does not. Return whether any was sent.
        """
        behind = busy.queue if (busy := self._busy[number]) and resend else None
        self.drop(number)
        for message in behind or ():
            self.send(number, message.size, message.deliver, *message.arguments)
        return bool(behind)

    def renew(self, number: int) -> bool:
        """Begin a new connection, also after a cut, with all messages of which no bit has left.

        Return whether there were any. Call this after `drop`, and a `cut` since.
        """
        busy = self._busy[number]
        waiting = [busy.message, *(busy.queue or ())] if busy else []
        self.drop(number)
        for message in waiting:
            self.send(number, message.size, message.deliver, *message.arguments)
        return bool(waiting)

    def reshape(self, number: int, constants: LinkConstants | None) -> None:
        """Set the `constants` of the device's link; None restores the constants of the group."""
        old, new = self._of(number), constants or self._constants
        if new == old:
            return
        while (busy := self._busy[number]) and self._moves(busy) and self._leaving(busy):
            if busy.shared and self._server_link:
                self._server_link.leave(busy, self._own_rate(busy))
            self.sent(busy)  # its event is due at this very moment
        moving = busy is not None and self._moves(busy)
        if busy is not None:
            if moving:
                self._pause(busy)
            self._take_bits_back(busy, old.rate)
        if constants is None:
            self._own.pop(number, None)
        else:
            self._own[number] = constants
        if self._connections is not None:
            self._connections.reshape(number, constants.tcp if constants else None, new.rate)
        if busy is None or not moving:
            return  # a cut, or a time-out of TCP, ends with the new constants
        if self._connections is not None and busy.start is not None:
            rest = busy.bits / BITS
            idle, busy.start = self._connections.go_on(number, rest, busy.start)
            busy.gap = busy.setup + busy.silence + idle
        self._resume(busy)

    def carried(self, number: int) -> int:
        """Return the bytes of messages carried so far by the device's link."""
        busy = self._busy[number]
        return self._carried[number] + (self._progress(busy) if busy else 0)

    def carried_by_shard(self) -> list[int]:
        """Return the bytes of messages carried so far by all links: the server is a single one."""
        return [sum(map(self.carried, range(len(self._busy))))]

    # -- one message -----------------------------------------------------------------------------

    def _begin(self, busy: Transmission) -> None:
        """Begin to send `busy.message`, or wait for the end of a cut."""
        number, size, now = busy.number, busy.message.size, self._clock.now
        connections = self._connections
        busy.begin(now, self._of(number).setup)
        if number in self._cut:
            if connections is not None:
                busy.start = connections.wait(number, now)
            return
        if connections is not None:
            # the link idles while TCP's window opens; bits that an idle shaper has saved up for a
            # burst take no time on it
            idle, credit, busy.start = connections.open(number, size, now)
            behind = busy.queue[0].size if busy.queue else 0
            busy.silence = connections.silence(number, size, behind)
            busy.gap += busy.silence + idle
            if self._server_link is None:
                busy.bits = max(0.0, busy.bits - credit)
            else:
                busy.burst = min(busy.bits, credit)
        self._resume(busy)

    def _resume(self, busy: Transmission) -> None:
        """Go on with `gap` seconds alone, then with `bits`."""
        busy.since, busy.stalled = self._clock.now, None
        if self._server_link is None:
            # no other flow can slow the bits down, so their time is known: one event instead of two
            busy.gap += busy.bits / self._of(busy.number).rate
            busy.bits = 0.0
        if busy.gap:
            self._clock.at(busy.since + busy.gap, LinkGroup._enter, self, busy, busy.epoch)
        else:
            self._enter(busy, busy.epoch)

    def _retry(self, busy: Transmission, epoch: int) -> None:
        """Go on after a time-out, at which TCP begins with a single segment."""
        if busy.epoch != epoch or self._connections is None:
            return
        idle, busy.start = self._connections.recover(busy.number, busy.bits / BITS)
        busy.gap = busy.setup + busy.silence + idle
        self._resume(busy)

    def _enter(self, busy: Transmission, epoch: int) -> None:
        """End the time alone: send the bits over the server's link, if there are any to send."""
        if busy.epoch != epoch:
            return
        busy.gap = 0.0
        if self._server_link is None or not busy.bits:
            self.sent(busy)
        else:
            busy.shared = True
            self._server_link.join(busy, busy.burst or busy.bits, self._own_rate(busy))

    def passed(self, busy: Transmission) -> None:
        """Send the bits behind the burst that has passed the server's link, if there are any."""
        behind = busy.bits - busy.burst
        if self._server_link is None or not busy.burst or not behind:
            self.sent(busy)
            return
        busy.bits, busy.burst = behind, 0.0
        self._server_link.join(busy, behind, self._own_rate(busy))

    def sent(self, busy: Transmission) -> None:
        """Plan the arrival of a message, as the last bit has left, and begin the next message."""
        number, (size, deliver, arguments) = busy.number, busy.message
        self._carried[number] += size
        self._clock.at(self._arrival(number), deliver, *arguments)
        busy.epoch += 1
        busy.shared = False
        if self._connections is not None:
            self._connections.rested[number] = self._clock.now
        if busy.queue:
            busy.message = busy.queue.pop(0)
            self._begin(busy)
        else:
            self._busy[number] = None

    def _arrival(self, number: int) -> float:
        """Return the arrival of a message that leaves now. No message overtakes another."""
        constants, now = self._of(number), self._clock.now
        drawn = now + constants.delay
        if self._arrived is None:
            return drawn
        if constants.jitter:
            # a normal law cut off at four deviations, as netem draws it
            drawn += constants.jitter * min(4.0, max(-4.0, self._dice(number).gauss()))
        if constants.jitters:
            drawn += self._deviation(number, constants.jitters)
        due = max(drawn, now, self._arrived[number])
        self._arrived[number] = due
        return due

    def _deviation(self, number: int, jitters: tuple[Jitter, ...]) -> float:
        """Draw the deviation of a message of the device by `jitters`, the next of its kind."""
        known = self._draws.get(number)
        if known is None or known[0] != jitters:  # a fault has changed the link
            known = self._draws[number] = jitters, DelayDraws(self._dice(number), jitters)
        return known[1].deviation()

    # -- cuts, changes and counters --------------------------------------------------------------

    def _of(self, number: int) -> LinkConstants:
        """Return the constants of the device's link."""
        return self._own.get(number, self._constants) if self._own else self._constants

    def _own_rate(self, busy: Transmission) -> float:
        """Return the rate that the device's own link leaves to the bits on the server's link."""
        return math.inf if busy.burst else self._of(busy.number).rate

    def _moves(self, busy: Transmission) -> bool:
        """Return whether the message goes on, unless TCP lets the link idle."""
        return busy.stalled is None and busy.number not in self._cut

    def _take_bits_back(self, busy: Transmission, rate: float) -> None:
        """Undo that `_resume` turned bits into seconds of the gap, at `rate`.

        The gap of a link that is not cut is the rest of the setup then.
        """
        if busy.bits or not busy.gap:
            return
        most = busy.message.size * BITS
        # an infinite rate passes all bits at the end of the gap
        alone = busy.setup + busy.silence
        busy.bits = most if rate == math.inf else min(most, (busy.gap - alone) * rate)
        busy.gap = alone

    def _pause(self, busy: Transmission) -> None:
        """Stop the message: void the planned event, and keep the number of bits left."""
        busy.epoch += 1
        if busy.stalled is not None:  # it stands still already
            return
        self._progress(busy)  # `crossed` stays at this count while the link stands still
        elapsed = self._clock.now - busy.since
        if busy.shared and self._server_link:
            behind = busy.bits - busy.burst if busy.burst else 0.0
            busy.bits = self._server_link.leave(busy, self._own_rate(busy)) + behind
            busy.shared = False
        else:
            busy.gap = max(0.0, busy.gap - elapsed)
        if self._connections is not None and busy.start is not None:
            self._connections.stall(busy.number, elapsed - busy.setup, busy.start)
            if not busy.bits and busy.gap:
                # `_resume` had turned the bits into seconds of the gap; `_retry` needs them back,
                # as it makes a new gap
                sending = busy.gap - max(0.0, busy.silence - max(0.0, elapsed - busy.setup))
                busy.bits = min(busy.message.size * BITS, sending * self._of(busy.number).rate)
        busy.silence = max(0.0, busy.silence - max(0.0, elapsed - busy.setup))
        busy.setup = max(0.0, busy.setup - elapsed)
        busy.since, busy.burst = self._clock.now, 0.0

    def _leaving(self, busy: Transmission) -> bool:
        """Return whether the last bit leaves at this very moment, its event being yet to run."""
        if busy.shared and self._server_link:
            return self._left(busy) <= 0
        # in the words of `_left`: as a sum, times could round to the other side of the moment
        over = busy.gap - (self._clock.now - busy.since) <= 0
        return not busy.bits and busy.stalled is None and over

    def _progress(self, busy: Transmission) -> int:
        """Return the bytes of the message sent so far, and keep the number in `crossed`."""
        if busy.stalled is None and busy.number not in self._cut:
            left = math.ceil(self._left(busy) / BITS)
            busy.crossed = max(busy.crossed, busy.message.size - left)
        return busy.crossed

    def _left(self, busy: Transmission) -> float:
        """Return the bits of the message that have not left, while the link is not cut."""
        rate = self._of(busy.number).rate
        if busy.shared and self._server_link:
            behind = busy.bits - busy.burst if busy.burst else 0.0
            return self._server_link.left(busy, self._own_rate(busy)) + behind
        if busy.bits or rate == math.inf:  # still in the gap, or in no time at all
            return busy.bits
        # The bits are the last part of the gap. During an earlier part this exceeds the message,
        # which `_progress` counts as no progress.
        return max(0.0, busy.gap - (self._clock.now - busy.since)) * rate
