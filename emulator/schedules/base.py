"""Costs of an iteration layer by layer, cuts of its pull and its push, and the schedules' protocol.

DynaComm's model (Cai et al., 2021, section III): one link and one processor per device. A segment
takes the link's set-up time and the transfer times of its layers. Layers are computed one after
the other; a layer's forward pass needs its whole segment, a segment's push needs the gradients of
all its layers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Protocol, TypeAlias

from ..layout import Segment
from ..units import AtLeast

Time: TypeAlias = float | Fraction
"""Seconds. Schedules compute in the type that they are given, exactly with fractions."""

Segments: TypeAlias = tuple[Segment, ...]
"""Segments in the order in which they travel; together they hold each layer once."""

REPLAN = AtLeast(1)
"""Range of `replan`."""
Replan: TypeAlias = Annotated[int, REPLAN]
"""Iterations after which a device plans anew."""


@dataclass(frozen=True)
class LayerCosts:
    """Times of an iteration; item l - 1 of a tuple belongs to layer l."""

    pull: tuple[Time, ...]
    """Transfer of each layer's parameters, without set-up."""
    forward: tuple[Time, ...]
    backward: tuple[Time, ...]
    push: tuple[Time, ...]
    """Transfer of each layer's encoded gradient, without set-up."""
    pull_setup: Time = 0.0
    """Time for which each message to the device holds the link before its first bit."""
    push_setup: Time = 0.0

    def __post_init__(self) -> None:
        layers = {len(times) for times in (self.pull, self.forward, self.backward, self.push)}
        if len(layers) > 1 or layers == {0}:
            raise ValueError("pull, forward, backward and push need one time for each layer")
        times = (*self.pull, *self.forward, *self.backward, *self.push)
        for time in (*times, self.pull_setup, self.push_setup):
            if not 0 <= time < math.inf:  # false for NaN, too
                raise ValueError(f"a time of {time} seconds is not from 0 to infinity")


@dataclass(frozen=True)
class Cuts:
    """The segments of an iteration's pull and push."""

    pull: Segments
    """First layers first, for example ((1, 2), (3, 3))."""
    push: Segments
    """Last layers first, for example ((3, 3), (1, 2))."""


class Schedule(Protocol):
    """A strategy of cutting; a frozen dataclass with a `kind`, as every plugin."""

    @property
    def kind(self) -> str:
        """Name of the strategy."""

    def pull(self, setup: Time, transfer: Sequence[Time], forward: Sequence[Time]) -> Segments:
        """Return the segments of a pull, first layers first."""

    def push(self, setup: Time, transfer: Sequence[Time], backward: Sequence[Time]) -> Segments:
        """Return the segments of a push, last layers first. Item l - 1 belongs to layer l."""


def cut(schedule: Schedule, costs: LayerCosts) -> Cuts:
    """Return the segments into which `schedule` cuts an iteration with `costs`."""
    return Cuts(
        schedule.pull(costs.pull_setup, costs.pull, costs.forward),
        schedule.push(costs.push_setup, costs.push, costs.backward),
    )


def slack(seconds: Time) -> Time:
    """Return by how much two times of about `seconds` may differ by rounding alone.

    Sums of the same costs in another order differ by less than one part in 10¹² for some thousand
    layers; fractions and integers do not differ at all.
    """
    return abs(seconds) * 1e-12 if isinstance(seconds, float) else 0
