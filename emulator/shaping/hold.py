"""Delay line at the receiver, in place of netem where the kernel has none."""

from collections import deque
from random import Random
from typing import Any, Generic, TypeVar

from ..units import Seconds

Message = TypeVar("Message")


def hold_for(delay: float, jitter: float, stream: str) -> "Hold[Any] | None":
    """Return a hold with jitter from the random stream named `stream`; None for a `delay` of zero.

    `delay` and `jitter` are in seconds.
    """
    return Hold(Seconds(delay), Seconds(jitter), Random(stream)) if delay else None


class Hold(Generic[Message]):
    """First-in-first-out queue with a fixed delay and random jitter for every message.

    The distribution is netem's as set up in `tc`: normal around `delay` with deviation `jitter`,
    cut off at four deviations and at zero, and never due before the previous message. Unlike netem
    it does not delay packets: TCP sees a short path, starts fast and recovers fast.
    """

    def __init__(self, delay: Seconds, jitter: Seconds, rng: Random) -> None:
        self._delay = delay
        self._jitter = jitter
        self._rng = rng
        self._line: deque[tuple[float, Message]] = deque()

    def take(self, message: Message, now: float) -> None:
        """Queue a message that has arrived at time `now`, in seconds."""
        due = now + self._draw_delay()
        if self._line:
            due = max(due, self._line[-1][0])
        self._line.append((due, message))

    def deadline(self) -> float | None:
        """Return the time at which the next message is due, or None if the queue is empty."""
        return self._line[0][0] if self._line else None

    def release(self, now: float) -> list[Message]:
        """Return the messages that are due at `now`, in order of arrival."""
        due = []
        while self._line and self._line[0][0] <= now:
            due.append(self._line.popleft()[1])
        return due

    def _draw_delay(self) -> float:
        """Return the delay of one message in seconds."""
        if not self._jitter:
            return float(self._delay)
        deviation = min(4.0, max(-4.0, self._rng.gauss()))
        return max(0.0, self._delay + self._jitter * deviation)
