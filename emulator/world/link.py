"""What lies between a node and the WAN, as plain numbers."""

from dataclasses import dataclass, field

from ..units import Fraction, Rate, Seconds

FRAME = 1514 / 1448
"""Ethernet bytes for each byte of a TCP stream (MSS 1448 with timestamps): what `tc` charges."""


@dataclass(frozen=True)
class Side:
    """One direction of an access link. All times are one-way."""

    rate: Rate | None = None
    """Of Ethernet frames, as `tc` charges it: TCP delivers 1448/1514 of it. None: unshaped."""
    delay: Seconds = Seconds(0)
    jitter: Seconds = Seconds(0)
    loss: Fraction = Fraction(0)
    setup: Seconds = Seconds(0)
    """What each message takes before its first bit, the link being busy meanwhile."""

    def __post_init__(self) -> None:
        if self.jitter > self.delay:
            raise ValueError(f"jitter {self.jitter} is above its delay {self.delay}")

    @property
    def shaped(self) -> bool:
        return self != Side()

    def transfer(self, size: float) -> float:
        """Seconds that `size` application bytes take, last bit in at the far end."""
        serialised = 0.0 if self.rate is None else size * 8 * FRAME / self.rate
        return self.setup + serialised + self.delay


@dataclass(frozen=True)
class Link:
    """A node's access link: `up` away from it, `down` towards it."""

    up: Side = field(default_factory=Side)
    down: Side = field(default_factory=Side)

    @property
    def shaped(self) -> bool:
        return self.up.shaped or self.down.shaped
