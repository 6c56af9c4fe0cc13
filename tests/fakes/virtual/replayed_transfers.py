"""The messages that a real TCP connection carried, sent again in virtual time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeAlias

from emulator.runtimes.virtual.clock import Heap
from emulator.runtimes.virtual.links.link_group import LinkGroup
from emulator.runtimes.virtual.links.network import link_constants
from emulator.runtimes.virtual.links.transmission import LinkConstants
from emulator.scenario.sections.run_sections import Congestion
from emulator.world.links.link import ETHERNET, Link
from tests.netem.lab import Way

Cut: TypeAlias = tuple[float, float]
"""From when until when nothing gets through."""


@dataclass(frozen=True)
class Transfer:
    """A message's duration in seconds: as measured, and in virtual time."""

    link: Link
    way: Way
    size: int
    measured: float
    modelled: float

    @property
    def difference(self) -> float:
        return self.modelled / self.measured - 1

    def __repr__(self) -> str:
        rate = (self.link.up if self.way == "up" else self.link.down).rate
        rtt = self.link.up.delay + self.link.down.delay
        return (
            f"{rate!s:>7} {rtt * 1000:4.0f} ms {self.way:4} {self.size:>10,} B "
            f"{self.measured:9.4f} s, modelled {self.modelled:9.4f} s: {self.difference:+.1%}"
        )


def modelled(
    link: Link,
    way: Way,
    size: int,
    sent: Sequence[float],
    *,
    spared: float = 0.0,
    cut: Cut | None = None,
    control: Congestion = "cubic",
) -> list[float]:
    """Return the arrivals of messages of `size` bytes, `sent` at these times on one connection.

    `spared`: bytes of frames that the shaper lets through at once beyond what tbf does. Times are
    of any clock. `control`: TCP's congestion control.
    """
    heap, received = Heap(), list[float]()
    constants = link_constants(link, Link(), way, tcp=True, control=control)
    lines = LinkGroup(heap, _generous(constants, spared), 1, _no_dice)
    for at in sent:
        heap.at(at, lines.send, 0, size, lambda: received.append(heap.now))
    if cut:
        heap.at(cut[0], lines.cut, 0)
        heap.at(cut[1], lines.mend, 0)
    heap.run(math.inf, 1_000_000)
    return received


def resumed(link: Link, way: Way, sent: float, cut: Cut) -> float:
    """When the first segment of a message arrives that is sent into a cut or is cut off."""
    constants = link_constants(link, Link(), way, tcp=True)
    assert constants.tcp is not None
    began, mended = cut
    at = constants.tcp.resumed(max(began, sent), mended)
    return at + constants.delay + 8 * ETHERNET / constants.rate


def _generous(of: LinkConstants, spared: float) -> LinkConstants:
    assert of.tcp is not None
    return replace(of, tcp=replace(of.tcp, bucket=of.tcp.bucket + 8 * spared))


def _no_dice(who: int) -> Random:
    raise AssertionError("nothing here is drawn")
