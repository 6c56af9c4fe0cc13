"""Background traffic: the rate that a stranger's stream offers to a link over the time of a run.

The laws, all of the rates of Ethernet frames:

* `constant`: the same rate all the time;
* `poisson`: arrivals of a size at the times of a Poisson process; those of each tenth of a second
  are sent evenly over it, so the rate is drawn anew ten times a second;
* `on-off`: the rate for a drawn time, then nothing for a drawn time, and so on (as by Willinger et
  al., 1997, whose times have heavy tails);
* `trace`: the rate of a trace, as links play it.
"""

import math
from collections.abc import Iterator
from random import Random
from typing import Protocol

from ...units import Bytes, Rate
from ..laws import Law
from .link import Side
from .link_course import OUTAGE, side_course
from .link_steps import PlayedTrace

SPAN = 0.1
"""Seconds over which the arrivals of the law `poisson` are sent evenly."""

LEAST_LEFT = 0.01
"""Share of a link's rate that streams which heed nobody leave to others."""

_MOST_DRAWN = 500.0
"""Mean number of arrivals in a span from which a normal law takes the place of the Poisson law."""


class OfferedSide(Protocol):
    """A direction of background traffic, as a scenario has it."""

    @property
    def law(self) -> str: ...
    @property
    def rate(self) -> Rate | None: ...
    @property
    def arrival(self) -> Bytes: ...
    @property
    def times(self) -> tuple[Law, Law]: ...
    @property
    def trace(self) -> PlayedTrace | None: ...


def offered(side: OfferedSide, dice: Random, draw: float = 0.0) -> Iterator[tuple[float, float]]:
    """Yield pairs of the second of the run and the rate in bit/s from then on, the first at 0.

    `dice` draws, and `draw`, from 0 to below 1, places a trace with a random start. Rates that stay
    the same are left out.
    """
    match side.law:
        case "poisson":
            changes = _poisson(float(side.rate or 0), 8.0 * side.arrival, dice)
        case "on-off":
            changes = _on_off(float(side.rate or 0), side.times, dice)
        case "trace" if side.trace is not None:
            changes = _traced(side.trace, draw)
        case _:
            changes = iter([(0.0, float(side.rate or 0))])
    last = math.nan
    for at, rate in changes:
        if rate != last:
            yield at, rate
            last = rate


def peak(side: OfferedSide) -> float:
    """Return the highest rate that time-outs count with, in bit/s."""
    if side.trace is not None:
        return max((rate for _, rate in _samples(side.trace)), default=0.0)
    return float(side.rate or 0)


def rate_left(rate: float, heedless: float, fair: int, others: int = 1) -> float:
    """Return the rate that is left to `others` transfers together on a link of `rate`, beside
    streams that take `heedless` bit/s and `fair` streams with the share of a transfer each."""
    return max(LEAST_LEFT * rate, rate - heedless) * others / (others + fair)


def _poisson(rate: float, size: float, dice: Random) -> Iterator[tuple[float, float]]:
    """Yield the rates of arrivals of `size` bits."""
    mean, number = rate * SPAN / size, 0
    while True:
        yield round(number * SPAN, 6), _arrivals(mean, dice) * size / SPAN
        number += 1


def _arrivals(mean: float, dice: Random) -> int:
    """Draw a number by the Poisson law."""
    if mean > _MOST_DRAWN:
        return max(0, round(dice.gauss(mean, math.sqrt(mean))))
    # as many as the exponential gaps between arrivals that fit into a time of `mean`
    count, time = 0, dice.expovariate(1.0)
    while time < mean:
        count += 1
        time += dice.expovariate(1.0)
    return count


def _on_off(rate: float, times: tuple[Law, Law], dice: Random) -> Iterator[tuple[float, float]]:
    at, on = 0.0, True
    while True:
        yield round(at, 6), rate if on else 0.0
        at += max(1e-3, times[0 if on else 1].draw(dice))  # a law may draw nothing again and again
        on = not on


def _traced(trace: PlayedTrace, draw: float) -> Iterator[tuple[float, float]]:
    begin = trace.begin(draw)
    for at, side in side_course(Side(rate=OUTAGE, trace=trace)).play(begin):
        yield max(0.0, round(at - begin, 6)), _without_outage(side.rate)


def _samples(trace: PlayedTrace) -> Iterator[tuple[float, float]]:
    course = side_course(Side(rate=OUTAGE, trace=trace))
    for at, side in zip(course.times, course.sides, strict=True):
        yield at, _without_outage(side.rate)


def _without_outage(rate: Rate | None) -> float:
    """Return the rate of a trace's moment: the trickle of links in an outage is nothing here."""
    return 0.0 if rate is None or rate <= OUTAGE else float(rate)
