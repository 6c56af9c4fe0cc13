"""A message on a modelled link, and the link's constants."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ....world.links.delay_draws import Jitter
from ....world.links.link import FRAME
from .connections import Start
from .tcp import Tcp

BITS = 8 * FRAME
"""Bits of frames on the link for each byte of a message."""


@dataclass(frozen=True)
class LinkConstants:
    """The constants of a group's links: the sides of both ends together, in one direction."""

    rate: float
    """Bits of frames a second, of the device's side as loss leaves it; may be infinite."""
    delay: float = 0.0
    """Seconds of propagation."""
    jitter: float = 0.0
    """Standard deviation of the normal part of the propagation, in seconds."""
    setup: float = 0.0
    """Seconds for which each message holds the link before its first bit."""
    tcp: Tcp | None = None
    """None: the link is ideal."""
    jitters: tuple[Jitter, ...] = ()
    """Jitters with other distributions, or with a correlation, that come on top."""


class QueuedMessage(NamedTuple):
    """A message of `size` bytes; on arrival `deliver` is called with the `arguments`."""

    size: int
    deliver: Callable[..., None]
    arguments: tuple[Any, ...]


class Sender(Protocol):
    """The link group of a transmission."""

    def passed(self, transmission: "Transmission", /) -> None:
        """Go on after the end of the flow on the server's link."""


class Transmission:
    """The message that keeps a device's link busy, and the queue behind this message.

    A message passes two phases. First it spends `gap` seconds alone: the link's setup, and the time
    for which TCP leaves the link idle. Then `bits` cross the link. If the server's link is rated,
    they cross it as a flow among others; if not, they only add their time to `gap`. The bits of a
    `burst` wait for the server's link, and not for their own.
    """

    __slots__ = (
        *("bits", "burst", "crossed", "epoch", "gap", "group", "message", "number", "queue"),
        *("setup", "shared", "silence", "since", "stalled", "start"),
    )

    def __init__(self, group: Sender, number: int, message: QueuedMessage) -> None:
        self.group = group
        self.number = number  # the device's index in the group
        self.message = message
        self.queue: list[QueuedMessage] | None = None
        self.epoch = 0  # events planned in an earlier epoch are void
        self.shared = False  # whether the message is a flow on the server's link now
        self.start: Start | None = None  # TCP's state when the message began or last went on

    def begin(self, now: float, setup: float) -> None:
        """Begin `message` at the time `now`, with `setup` seconds before its first bit."""
        self.gap = setup  # seconds left to spend alone, as of `since`
        self.bits = self.message.size * BITS  # bits left for the second phase
        self.burst = 0.0  # of these, the first, which an idle shaper of the device lets through
        self.since = now  # time at which `gap` and `setup` were right
        self.stalled: float | None = None  # time since which TCP tries in vain; None: it does not
        self.crossed = 0  # bytes counted as carried so far: a counter never falls
        self.setup = setup  # seconds left of the setup, which is the first part of `gap`
        self.silence = 0.0  # seconds left of TCP's silence after bursts, which follows the setup

    def through(self) -> None:
        """Go on after the end of the flow on the server's link."""
        self.group.passed(self)
