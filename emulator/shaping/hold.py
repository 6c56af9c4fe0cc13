"""Line at the receiver that delays messages, for set-up times and where the kernel has no netem.

The kernel shapes packets, and knows no messages, so a message's set-up time is added where the
message has arrived as a whole. A message keeps its direction of the link busy for `setup` before
its first bit, then for its own bits. The kernel sends the bits without the set-ups, so a link of
the kernel that no other device shares is never later than the emulated link. Message i has arrived
at a(i), and its bits alone take t(i) seconds; on the emulated link its last bit arrives at

    b(i) = max(b(i - 1), a(i) - t(i)) + setup + t(i).

This is exact for a message that finds the link idle, and for a message that waits behind others. It
is not exact while several devices share the rate of the server's link, where messages meet at other
times than they would with set-ups: b(i) may then be too early, for messages that wait behind others
too, or too late, for a message that would have missed the others.
"""

import math
from collections import deque
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar

from ..units import Seconds

Message = TypeVar("Message")


def hold_for(
    delay: float, jitter: float, setup: float, pace: float, stream: str, changing: bool = False
) -> "Hold[Any] | None":
    """Return a hold with jitter from the random stream `stream`; None without delay and set-up.

    `delay`, `jitter` and `setup` are in seconds, `pace` in seconds per byte. A hold that is
    `changing` may get delay and set-up later.
    """
    if not (delay or setup or changing):
        return None
    return Hold(Seconds(delay), Seconds(jitter), Random(stream), setup=setup, pace=pace)


class _Held(NamedTuple, Generic[Message]):
    """A message in the line."""

    due: float
    """Time at which the message is released."""
    sent: float
    """Time at which its last bit has left the emulated link, as seen from the receiver."""
    size: int
    """Bytes on the wire."""
    message: Message


class Hold(Generic[Message]):
    """First-in-first-out queue that adds set-up times, a fixed delay and random jitter.

    The distribution of the jitter is netem's as set up in `tc`: normal around `delay` with
    deviation `jitter`, cut off at four deviations and at zero, and never due before the previous
    message. Unlike netem it does not delay packets: TCP sees a short path, starts fast and recovers
    fast.
    """

    def __init__(
        self, delay: Seconds, jitter: Seconds, rng: Random, *, setup: float = 0.0, pace: float = 0.0
    ) -> None:
        """Each message holds the link for `setup` seconds, and for `pace` seconds per byte.

        A pace of zero stands for a link without a rate.
        """
        self._delay = delay
        self._jitter = jitter
        self._rng = rng
        self._setup = setup
        self._pace = pace
        self._line: deque[_Held[Message]] = deque()
        self._bytes = 0  # of all messages in the line
        self._arrived = -math.inf  # arrival of the last message
        self._sent = -math.inf  # when the last message's last bit left the emulated link

    def take(self, message: Message, now: float, size: int = 0, after: float | None = None) -> None:
        """Queue `message` of `size` bytes on the wire, which was read at time `now`, in seconds.

        `after`: a time at which the message had not arrived, if the reader did something else since
        and found the message waiting. Then it counts as having followed the message before at the
        link's rate. None: the reader waited, so `now` is the time of arrival.
        """
        sending = size * self._pace
        arrived = now if after is None else min(now, max(after, self._arrived + sending))
        self._arrived = arrived
        if self._setup:
            self._sent = max(self._sent, arrived - sending) + self._setup + sending
        else:
            self._sent = arrived
        due = self._sent + self._draw_delay()
        if self._line:
            due = max(due, self._line[-1].due)
        self._line.append(_Held(due, self._sent, size, message))
        self._bytes += size

    def change(self, delay: float, jitter: float, *, setup: float, pace: float) -> None:
        """Hold the messages that arrive from here on for other times; those in the line stay."""
        self._delay, self._jitter = Seconds(delay), Seconds(jitter)
        self._setup, self._pace = setup, pace

    def renew(self, now: float) -> None:
        """Make the link as new at time `now`, as the sender has lost its power and booted again.

        The messages that had not left the emulated link are lost; the others arrive.
        """
        self._line = deque(held for held in self._line if held.sent <= now)
        self._bytes = sum(held.size for held in self._line)
        self._arrived = self._sent = -math.inf

    def is_full(self, messages: int, size: int) -> bool:
        """Return whether `messages` or more wait, or `size` or more bytes."""
        return len(self._line) >= messages or self._bytes >= size

    def deadline(self) -> float | None:
        """Return the time at which the next message is due; None for an empty queue."""
        return self._line[0].due if self._line else None

    def release(self, now: float) -> list[Message]:
        """Return the messages that are due at `now`, in order of arrival."""
        due = []
        while self._line and self._line[0].due <= now:
            held = self._line.popleft()
            self._bytes -= held.size
            due.append(held.message)
        return due

    def _draw_delay(self) -> float:
        """Draw the delay of a message, in seconds."""
        if not self._jitter:
            return float(self._delay)
        deviation = min(4.0, max(-4.0, self._rng.gauss()))
        return max(0.0, self._delay + self._jitter * deviation)
