"""Line of frames that are under way, each due after the delay of its link.

The order is netem's with a rate: a frame is never due before the frame ahead of it, so jitter does
not reorder. Only a frame that overtakes others goes to the front, without any delay.
"""

from collections import deque
from random import Random

from ...world.links.delay_draws import DelayDraws, Jitter
from ...world.links.link import Side

Held = tuple[float, float, int, bytes]
"""Due time, time of entry, number of frames, and the frame or superpacket."""


class DelayLine:
    """Frames in order of their due times."""

    def __init__(self, side: Side, draws: Random) -> None:
        self._held: deque[Held] = deque()
        self._draws = draws
        self._last = 0.0  # due time of the last frame
        self._jitter: Jitter | None = None
        self.bytes = 0
        self.change(side)

    def change(self, side: Side) -> None:
        """Delay as `side` from here on; frames in the line keep their due times."""
        self._delay = float(side.delay)
        jitter = Jitter(float(side.jitter), side.distribution, float(side.correlation))
        if jitter != self._jitter:
            self._jitter = jitter
            self._deviations = DelayDraws(self._draws, [jitter]) if side.jitter else None

    def frames(self) -> int:
        """Return the number of frames in the line."""
        return sum(number for _, _, number, _ in self._held)

    def __len__(self) -> int:
        return len(self._held)

    def add(self, frame: bytes, now: float, number: int) -> None:
        """Hold `number` frames, a superpacket if several, which entered the line at time `now`."""
        due = now + self._delay
        if self._deviations is not None:
            # a deviation beyond the delay cannot send a frame before it came
            due = max(now, due + self._deviations.deviation())
        # behind the frame ahead, as in netem with a rate: jitter alone reorders nothing
        if due < self._last:
            due = self._last
        self._last = due
        self.bytes += len(frame)
        self._held.append((due, now, number, frame))

    def add_ahead(self, frame: bytes, now: float, number: int) -> None:
        """Put `frame` in front of all other frames, due at its time of entry `now`."""
        self.bytes += len(frame)
        self._held.appendleft((now, now, number, frame))

    def deadline(self) -> float | None:
        """Return the time at which the next frame is due; None for an empty line."""
        return self._held[0][0] if self._held else None

    def release(self, now: float) -> list[Held]:
        """Take all frames that are due at `now` from the line."""
        held, released = self._held, []
        while held and held[0][0] <= now:
            entry = held.popleft()
            self.bytes -= len(entry[3])
            released.append(entry)
        return released
