"""Exact times of a phase for given cuts: spans of the transfers and of the layers' computing.

The link carries one segment after the other and the processor computes one layer after the other,
both as early as they can. In a pull the link never pauses, in a push the processor never does;
so at every moment of a phase at least one of the two works.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .base import Cuts, LayerCosts, Segments, Time

Span: TypeAlias = tuple[Time, Time]
"""Begin and end, in seconds since the phase began."""


@dataclass(frozen=True)
class PhaseTiming:
    """Spans of one phase: the pull with the forward pass, or the backward pass with the push."""

    segments: Segments
    """In the order in which they travel."""
    transfers: tuple[Span, ...]
    """When the link is busy with each of `segments`, set-up included."""
    computes: tuple[Span, ...]
    """When each layer is computed; item l - 1 belongs to layer l."""

    @property
    def seconds(self) -> Time:
        """Length of the phase: T_f of a pull, T_b of a push."""
        return max(self.transfers[-1][1], self.computes[0][1], self.computes[-1][1])

    @property
    def exposed_transfer(self) -> Time:
        """Seconds in which the link works and the processor waits."""
        return self.seconds - _busy(self.computes)

    @property
    def exposed_computing(self) -> Time:
        """Seconds in which the processor works and the link waits."""
        return self.seconds - _busy(self.transfers)

    @property
    def overlapped(self) -> Time:
        """Seconds in which link and processor work at the same time."""
        return _busy(self.transfers) + _busy(self.computes) - self.seconds


@dataclass(frozen=True)
class IterationTiming:
    """Spans of both phases of an iteration; the backward pass begins where the forward ends."""

    forward: PhaseTiming
    backward: PhaseTiming

    @property
    def seconds(self) -> Time:
        """T_f + T_b: the iteration without the request, the server's work and other devices."""
        return self.forward.seconds + self.backward.seconds


def iteration(cuts: Cuts, costs: LayerCosts) -> IterationTiming:
    """Return the spans of an iteration with `cuts` on a device with `costs`."""
    return IterationTiming(
        pull(cuts.pull, costs.pull_setup, costs.pull, costs.forward),
        push(cuts.push, costs.push_setup, costs.push, costs.backward),
    )


def pull(
    segments: Segments, setup: Time, transfer: Sequence[Time], forward: Sequence[Time]
) -> PhaseTiming:
    """Return the spans of a pull in `segments` and its forward pass.

    `transfer` and `forward` hold the seconds of each layer, `setup` the seconds for which each
    segment holds the link before its first bit. A layer needs its whole segment.
    """
    transfers: list[Span] = []
    computes: list[Span] = []
    sent: Time = 0
    done: Time = 0
    for first, last in segments:
        transfers.append((sent, sent + setup + sum(transfer[first - 1 : last])))
        sent = transfers[-1][1]
        done = max(done, sent)
        for seconds in forward[first - 1 : last]:
            computes.append((done, done + seconds))
            done += seconds
    return PhaseTiming(segments, tuple(transfers), tuple(computes))


def push(
    segments: Segments, setup: Time, transfer: Sequence[Time], backward: Sequence[Time]
) -> PhaseTiming:
    """Return the spans of a backward pass and its push in `segments`, last layers first.

    A segment leaves once the gradients of all its layers are there and the link is free.
    """
    computes: list[Span] = []
    done: Time = 0
    for seconds in reversed(backward):
        computes.append((done, done + seconds))
        done += seconds
    computes.reverse()
    transfers: list[Span] = []
    free: Time = 0
    for first, last in segments:
        began = max(free, computes[first - 1][1])
        free = began + setup + sum(transfer[first - 1 : last])
        transfers.append((began, free))
    return PhaseTiming(segments, tuple(transfers), tuple(computes))


def _busy(spans: Iterable[Span]) -> Time:
    return sum(end - began for began, end in spans)
