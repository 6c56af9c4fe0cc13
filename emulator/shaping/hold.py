"""A delay line at the receiver: what netem does, where the kernel has none."""

from collections import deque
from random import Random
from typing import Any, Generic, TypeVar

from ..units import Seconds

Message = TypeVar("Message")


def hold_for(delay: float, jitter: float, stream: str) -> "Hold[Any] | None":
    """Make a hold whose jitter is drawn from the random stream of that name; None for no `delay`.

    `delay` and `jitter` are in seconds.
    """
    return Hold(Seconds(delay), Seconds(jitter), Random(stream)) if delay else None


class Hold(Generic[Message]):
    """Holds each message back by the delay and a jitter drawn for it; first in, first out.

    The law is netem's as we set it up: normal around `delay` with deviation `jitter`, cut off
    at four deviations and at zero, and due no sooner than the message before it. What it does
    not do: delay the packets themselves, so TCP sees a short path, starts fast and recovers fast.
    """

    def __init__(self, delay: Seconds, jitter: Seconds, rng: Random) -> None:
        self._delay = delay
        self._jitter = jitter
        self._rng = rng
        self._line: deque[tuple[float, Message]] = deque()

    def take(self, message: Message, now: float) -> None:
        """Hold a message that has just arrived."""
        due = now + self._drawn()
        if self._line:
            due = max(due, self._line[-1][0])
        self._line.append((due, message))

    def deadline(self) -> float | None:
        """When the next message is due; None if none is held."""
        return self._line[0][0] if self._line else None

    def release(self, now: float) -> list[Message]:
        """The messages that are due, in the order in which they came."""
        out = []
        while self._line and self._line[0][0] <= now:
            out.append(self._line.popleft()[1])
        return out

    def _drawn(self) -> float:
        if not self._jitter:
            return float(self._delay)
        deviation = min(4.0, max(-4.0, self._rng.gauss()))
        return max(0.0, self._delay + self._jitter * deviation)
