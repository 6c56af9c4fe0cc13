"""Costs of an iteration layer by layer, cuts of its pull and its push, and the schedules' protocol.

DynaComm's model (Cai et al., 2021, section III): one link and one processor per device. A segment
takes the link's set-up time and the transfer times of its layers. Layers are computed one after
the other; a layer's forward pass needs its whole segment, a segment's push needs the gradients of
all its layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

from ..layout import Segment

Time: TypeAlias = float | Fraction
"""Seconds. Schedules compute in the type that they are given, exactly with fractions."""

Segments: TypeAlias = tuple[Segment, ...]
"""Segments in the order in which they travel; together they hold each layer once."""


@dataclass(frozen=True)
class LayerCosts:
    """Times of one iteration; item l - 1 of each tuple belongs to layer l."""

    pull: tuple[Time, ...]
    """Transfer of each layer's parameters, without set-up."""
    forward: tuple[Time, ...]
    backward: tuple[Time, ...]
    push: tuple[Time, ...]
    """Transfer of each layer's encoded gradient, without set-up."""
    pull_setup: Time = 0.0
    """Time for which each message to the device holds the link before its first bit."""
    push_setup: Time = 0.0


@dataclass(frozen=True)
class Cuts:
    """The segments of an iteration's pull and push."""

    pull: Segments
    """First layers first, for example ((1, 2), (3, 3))."""
    push: Segments
    """Last layers first, for example ((3, 3), (1, 2))."""


class Schedule(Protocol):
    """A strategy of cutting; a frozen dataclass with a `kind`, as every plugin."""

    def pull(self, setup: Time, transfer: Sequence[Time], forward: Sequence[Time]) -> Segments:
        """Return the segments of a pull, first layers first."""

    def push(self, setup: Time, transfer: Sequence[Time], backward: Sequence[Time]) -> Segments:
        """Return the segments of a push, last layers first. Item l - 1 belongs to layer l."""
