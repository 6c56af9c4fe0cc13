"""Line of frames that are under way, each due after the delay of its link.

The order is netem's with a rate: a frame is never due before the frame ahead of it, so jitter does
not reorder. A frame draws its delay from the normal distribution, cut off at four deviations and at
zero.
"""

from collections import deque
from random import Random

from ...world.link import Side


class DelayLine:
    """Frames in order of their due times, with the time at which each frame came."""

    def __init__(self, side: Side, draws: Random) -> None:
        self._held: deque[tuple[float, float, bytes]] = deque()
        self._draws = draws
        self._last = 0.0  # due time of the last frame
        self.bytes = 0
        self.change(side)

    def change(self, side: Side) -> None:
        """Delay as `side` from here on; frames in the line keep their due times."""
        self._delay, self._jitter = float(side.delay), float(side.jitter)

    def held(self) -> list[bytes]:
        """Return the frames in the line."""
        return [entry[2] for entry in self._held]

    def add(self, frame: bytes, now: float) -> None:
        """Hold `frame`, which entered the line at time `now`."""
        due = now + (self._drawn() if self._jitter else self._delay)
        if due < self._last and self._held:
            due = self._last
        self._last = due
        self.bytes += len(frame)
        self._held.append((due, now, frame))

    def deadline(self) -> float | None:
        """Return the time at which the next frame is due; None for an empty line."""
        return self._held[0][0] if self._held else None

    def release(self, now: float) -> list[tuple[float, float, bytes]]:
        """Return due time, time of entry and frame of each frame that is due at `now`."""
        held, released = self._held, []
        while held and held[0][0] <= now:
            entry = held.popleft()
            self.bytes -= len(entry[2])
            released.append(entry)
        return released

    def _drawn(self) -> float:
        deviation = min(4.0, max(-4.0, self._draws.gauss()))
        return max(0.0, self._delay + self._jitter * deviation)
