"""A link that the box carries: two directions between the TAP devices `eth0` and `wan`."""

import os
from collections.abc import Callable
from random import Random
from typing import Any

from ... import chance
from ...world.links.link import Link
from .departure_watch import has_departed
from .direction import Direction
from .lane import Lane
from .lateness import Lateness
from .rewiring import WIRE
from .tap import hand_over


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
