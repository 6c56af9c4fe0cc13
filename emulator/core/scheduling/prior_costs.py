"""Costs that a device's first plan is made from, before the device has measured anything."""

import msgspec

from ...schedules.base import LayerCosts
from ...world.links.link import FRAME, Side


class LinkEstimate(msgspec.Struct, frozen=True):
    """One direction of a device's link: a message of n bytes holds it for `setup` + n · `pace`
    seconds, and arrives `delay` seconds later."""

    setup: float = 0.0
    """Seconds."""
    pace: float = 0.0
    """Seconds for each byte of a message on the wire; zero if the link has no rate."""
    delay: float = 0.0
    """Seconds of propagation. No measurement tells it from a server that answers late, so it stays
    as the scenario states it."""

    def seconds(self, size: float) -> float:
        """Return the seconds until a message of `size` bytes has arrived."""
        return self.setup + size * self.pace + self.delay

    @property
    def rate(self) -> float | None:
        """Bits per second of Ethernet frames, as a scenario states rates; None: no rate."""
        return 8 * FRAME / self.pace if self.pace else None


def through(*sides: Side) -> LinkEstimate:
    """Return the estimate of a path through `sides`, one after the other, without other traffic.

    The slowest side sets the pace; set-up times and delays add up.
    """
    return LinkEstimate(
        setup=float(sum(side.setup for side in sides)),
        pace=max((8 * FRAME / side.net_rate for side in sides if side.rate), default=0.0),
        delay=float(sum(side.delay for side in sides)),
    )


def least_pace(*sides: Side) -> float:
    """Return the pace at which a path through `sides` carries messages without other traffic.

    No message is faster, as the rate of a link is known; 0 if the rates of all sides change, or if
    no side has a rate.
    """
    known = (side for side in sides if side.rate and not side.changes)
    return max((8 * FRAME / side.net_rate for side in known), default=0.0)


class PriorCosts(msgspec.Struct, frozen=True):
    """Costs of an iteration from the calibration and the scenario; layer 1 first."""

    forward: tuple[float, ...]
    """Seconds of each layer's forward pass."""
    backward: tuple[float, ...]
    """Seconds of each layer's backward pass."""
    pull: tuple[float, ...]
    """Bytes of each layer's parameters in a pull."""
    push: tuple[float, ...]
    """Bytes of each layer's encoded gradient; a guess will do where the data decides."""
    down: LinkEstimate
    """The path from the server to the device."""
    up: LinkEstimate
    """The path from the device to the server."""
    head: float = 0.0
    """Bytes on the wire that a segment needs beside its layers, in either direction."""
    least_down: float = 0.0
    """Least pace of `down`, which no measurement may undercut; 0 if it is unknown."""
    least_up: float = 0.0
    """Least pace of `up`."""

    @property
    def seconds(self) -> LayerCosts:
        """The costs in seconds. The head of a segment counts as a part of its set-up."""
        return LayerCosts(
            pull=tuple(size * self.down.pace for size in self.pull),
            forward=self.forward,
            backward=self.backward,
            push=tuple(size * self.up.pace for size in self.push),
            pull_setup=self.down.setup + self.head * self.down.pace,
            push_setup=self.up.setup + self.head * self.up.pace,
        )
