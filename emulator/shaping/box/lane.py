"""A direction between its two TAP devices: reads frames at one, writes them at the other.

The containers may hold copies of the descriptors, and let them wait; so each call says that it must
not wait.
"""

import os
from collections.abc import Callable

from .direction import Direction
from .lateness import Lateness
from .tap import GONE, LONGEST_FRAME, call_flags

_BUFFER = bytearray(LONGEST_FRAME)
_BUFFERS, _VIEW = [_BUFFER], memoryview(_BUFFER)
"""Place of the frame that is being read, of whichever lane."""


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
        self._flags = call_flags(source)
        self.due: float | None = None
        """Time at which the loop will drain the lane."""

    def fill(self, most: int, waited: float = 0.0) -> None:
        """Take the frames that wait at the source, at most `most`. Raises LinkGoneError.

        `waited`: seconds for which they waited for a box without a core, beside their lateness when
        they leave; 0 if they came just now.
        """
        source, flags, take, read = self.source, self._flags, self.direction.take, os.preadv
        now = self._clock()
        try:
            for _ in range(most):
                # read into the buffer of all lanes, and copied at its true length
                frame = bytes(_VIEW[: read(source, _BUFFERS, -1, flags)])
                if waited:
                    self._lateness.add(waited)
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
        direction, sink, flags, write = self.direction, self.sink, self._flags, os.pwritev
        passage = direction.passage
        for due, entered, number, frame in direction.release(now):
            try:
                write(sink, (frame,), -1, flags)
                passage.delivered += number
            except OSError as error:
                if error.errno in GONE:
                    raise LinkGoneError from None
                passage.dropped += number
            late = now - due
            self._lateness.add(late)
            direction.note(late, now - entered)

    def _write(self, frame: bytes) -> None:
        """Write `frame` to the sink, unless the network refuses it."""
        try:
            os.pwritev(self.sink, (frame,), -1, self._flags)
        except OSError as error:
            if error.errno in GONE:
                raise LinkGoneError from None
