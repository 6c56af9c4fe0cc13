"""The access link between a node and the WAN, as plain numbers."""

from dataclasses import dataclass, field

from ..units import Fraction, Rate, Seconds

FRAME = 1514 / 1448
"""Ethernet bytes for each byte of a TCP stream (MSS 1448 with timestamps), as `tc` counts."""


@dataclass(frozen=True)
class Side:
    """A direction of an access link. All times are one-way."""

    rate: Rate | None = None
    """Rate of Ethernet frames, as `tc` counts; TCP delivers 1448/1514 of it. Default: unlimited."""
    delay: Seconds = Seconds(0)
    """Propagation delay."""
    jitter: Seconds = Seconds(0)
    """Standard deviation of the delay, at most the delay."""
    loss: Fraction = Fraction(0)
    """Share of packets that are lost."""
    setup: Seconds = Seconds(0)
    """Time before each message's first bit, in which the link is busy."""

    def __post_init__(self) -> None:
        if self.jitter > self.delay:
            raise ValueError(f"jitter {self.jitter} is above its delay {self.delay}")

    @property
    def shaped(self) -> bool:
        """Whether the side has any property of a real link."""
        return self != Side()

    def transfer(self, size: float) -> float:
        """Return the seconds until the last bit of `size` application bytes arrives."""
        serialised = 0.0 if self.rate is None else size * 8 * FRAME / self.rate
        return self.setup + serialised + self.delay


@dataclass(frozen=True)
class Link:
    """A node's access link: `up` from the node to the WAN, `down` from the WAN to the node."""

    up: Side = field(default_factory=Side)
    down: Side = field(default_factory=Side)

    @property
    def shaped(self) -> bool:
        return self.up.shaped or self.down.shaped
