"""A link that the box carries: a lane each way between the TAP devices `eth0` and `wan`.

A lane reads frames at one of the two and writes them at the other. The containers may hold copies
of the descriptors, and let them wait; so each call says that it must not wait.
"""

import os
from collections.abc import Callable
from random import Random
from typing import Any

from ... import chance
from ...world.links.link import Link
from .departure_watch import has_departed
from .direction import Direction
from .output_lines import Lateness
from .rewiring import WIRE
from .tap import GONE, LONGEST_FRAME, call_flags, hand_over

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


class CarriedLink:
    """The lanes `up` and `down` of a link, with their descriptors."""

    def __init__(
        self,
        name: str,
        link: Link,
        ends: tuple[int, int, int],
        *,
        rates: bool,
        seed: str,
        lateness: Lateness,
        clock: Callable[[], float],
    ) -> None:
        """`ends`: descriptors of the TAP devices of the stack and of the wire, and of a watch
        over the wire. They are the link's from here on.

        `seed` begins the names of the link's random streams.
        """
        self.name, self._ends, self._clock = name, ends, clock
        stack, wire, self.watch = ends
        up = Direction(link.up, _streams(seed, "up"), rates=rates)
        down = Direction(link.down, _streams(seed, "down"), rates=rates)
        self.up = Lane(stack, wire, up, lateness, clock)
        self.down = Lane(wire, stack, down, lateness, clock)
        self.lanes = (self.up, self.down)
        self._set_forms(link)

    def change(self, link: Link) -> None:
        """Carry frames as `link` says from here on; frames under way stay."""
        now = self._clock()
        self.up.direction.change(link.up, now)
        self.down.direction.change(link.down, now)
        self._set_forms(link)

    def _set_forms(self, link: Link) -> None:
        """Let the kernel hand over frames in the forms that `link` needs."""
        for lane, side in ((self.up, link.up), (self.down, link.down)):
            hand_over(lane.source, lane.direction.form(side))

    def is_gone(self) -> bool:
        """Read the reports of the watch; return whether the wire was deleted."""
        return has_departed(self.watch, WIRE)

    @property
    def dropped(self) -> int:
        """Frames of both directions dropped for want of room, or refused by the network."""
        return sum(lane.direction.passage.dropped for lane in self.lanes)

    def report(self) -> dict[str, Any]:
        """Return the counts of both directions."""
        now = self._clock()
        return {"up": self.up.direction.report(now), "down": self.down.direction.report(now)}

    def close(self) -> None:
        """Close the descriptors: the TAP devices vanish, and with them the device's network."""
        for end in self._ends:
            os.close(end)


def _streams(seed: str, direction: str) -> Callable[[str], Random]:
    """Return the random streams of a direction, by use."""
    return lambda use: Random(chance.packet_draws(seed, direction, use))
