"""A direction between its two TAP devices: reads frames at one, writes them at the other."""

import os
from collections.abc import Callable

from .direction import Direction
from .lateness import Lateness
from .tap import GONE, LONGEST, frames

BATCH = 64
"""Most frames read at a time, so that a busy link lets others have their turn."""


class LinkGoneError(Exception):
    """The network of a link is gone, and its TAP devices with it."""


class Lane:
    """A direction with the descriptors of its two TAP devices, `source` and `sink`."""

    def __init__(
        self,
        source: int,
        sink: int,
        direction: Direction,
        lateness: Lateness,
        clock: Callable[[], float],
    ) -> None:
        self.source, self.sink, self.direction = source, sink, direction
        self._lateness, self._clock = lateness, clock
        self.due: float | None = None
        """Time at which the loop will drain the lane."""

    def fill(self) -> None:
        """Take all frames that wait at the source, at most `BATCH`. Raises LinkGoneError."""
        source, take, read = self.source, self.direction.take, os.read
        now = self._clock()
        try:
            for _ in range(BATCH):
                frame = read(source, LONGEST)
                if not take(frame, now):
                    self._write(frame)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in GONE:
                raise LinkGoneError from None
            # EIO while the device is down: nothing can be read

    def drain(self) -> None:
        """Write all frames that are due to the sink. Raises LinkGoneError."""
        now = self._clock()
        released = self.direction.release(now)
        if not released:
            return
        passage, write, sink = self.direction.passage, os.write, self.sink
        for _, _, frame in released:
            number = frames(frame) if frame[1] else 1
            try:
                write(sink, frame)
                passage.delivered += number
            except OSError as error:
                if error.errno in GONE:
                    raise LinkGoneError from None
                passage.dropped += number
        late = [now - due for due, _, _ in released]
        self._lateness.add(late)
        self.direction.note(late, [now - entered for _, entered, _ in released])

    def _write(self, frame: bytes) -> bool:
        """Write `frame` to the sink; return False if the network refuses it."""
        try:
            os.write(self.sink, frame)
        except OSError as error:
            if error.errno in GONE:
                raise LinkGoneError from None
            return False
        return True
