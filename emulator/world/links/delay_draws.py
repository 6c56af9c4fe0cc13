"""Draws of a packet's deviation from its mean delay, in the distributions of netem's tables.

The tables of iproute2 (`normal.dist`, `pareto.dist`, `paretonormal.dist`) hold quantiles in units
of the jitter, no larger than 4; the formulas here generate the same quantiles. A correlation leaves
the distribution as it is: a correlated normal number is turned into a quantile.
"""

import math
from collections.abc import Callable, Iterable
from functools import cache
from random import Random
from statistics import NormalDist, fmean, pstdev
from typing import NamedTuple

from .link import Distribution, Side

_LARGEST = 4.0
"""netem's tables have 16 bits, and a jitter is 8192 in them."""
_NORMAL = NormalDist()
_GRAIN = 4096
"""Entries of netem's tables."""
_SMALLEST = 1 / 65536
"""The smallest share of the tables: beyond it their quantiles are cut off."""


class Jitter(NamedTuple):
    """The jitter of a side, or the sum of normal jitters of several sides."""

    deviation: float
    """Jitter in seconds, as the key `jitter` has it."""
    distribution: Distribution = "normal"
    correlation: float = 0.0


def jitters(*sides: Side) -> tuple[float, tuple[Jitter, ...]]:
    """Return the independent jitters of a packet that passes all `sides`.

    The variances of uncorrelated normal jitters add up: the first value is their deviation. The
    jitters of other kinds stay apart.
    """
    every = [Jitter(float(s.jitter), s.distribution, float(s.correlation)) for s in sides]
    plain = [jitter.deviation for jitter in every if jitter[1:] == ("normal", 0.0)]
    others = [jitter for jitter in every if jitter[1:] != ("normal", 0.0)]  # never without jitter
    return math.hypot(*plain), tuple(others)


@cache
def moments(distribution: Distribution) -> tuple[float, float]:
    """Return mean and standard deviation of the draws, in units of the jitter."""
    if distribution == "normal":
        return 0.0, 1.0
    drawn = [QUANTILES[distribution]((number + 0.5) / _GRAIN) for number in range(_GRAIN)]
    return fmean(drawn), pstdev(drawn)


class DelayDraws:
    """Draws of deviations, packet after packet, from a random stream."""

    def __init__(self, rng: Random, every: Iterable[Jitter]) -> None:
        """Draw the sum of the jitters in `every`."""
        self._draws = [(jitter.deviation, _draw(rng, jitter)) for jitter in every]

    def deviation(self) -> float:
        """Draw the seconds that the next packet takes more than the mean delay, or less."""
        return sum(scale * draw() for scale, draw in self._draws)


def _draw(rng: Random, jitter: Jitter) -> Callable[[], float]:
    """Return the function that draws a deviation, in units of the jitter."""
    if jitter.correlation:
        return _correlated(rng, jitter)
    if jitter.distribution == "normal":
        return lambda: min(_LARGEST, max(-_LARGEST, rng.gauss()))
    quantile = QUANTILES[jitter.distribution]
    return lambda: quantile(rng.random())


def _correlated(rng: Random, jitter: Jitter) -> Callable[[], float]:
    """Return the draws of an autoregressive process of first order, brought to the distribution."""
    quantile, rho = QUANTILES[jitter.distribution], jitter.correlation
    fresh, last = math.sqrt(1 - rho * rho), rng.gauss()

    def draw() -> float:
        nonlocal last
        last = rho * last + fresh * rng.gauss()
        return quantile(_NORMAL.cdf(last))

    return draw


def _normal(share: float) -> float:
    inside = min(1 - _SMALLEST, max(_SMALLEST, share))
    return min(_LARGEST, max(-_LARGEST, _NORMAL.inv_cdf(inside)))


def _uniform(share: float) -> float:
    return 2 * share - 1


def _pareto(share: float) -> float:
    """Return the quantile of a Pareto law with exponent 3, mean 1.5 taken off, times 4/3."""
    return min(_LARGEST, 4 / 3 * (math.pow(max(_SMALLEST, 1 - share), -1 / 3) - 1.5))


def _paretonormal(share: float) -> float:
    return (_normal(share) + 3 * _pareto(share)) / 4


QUANTILES: dict[Distribution, Callable[[float], float]] = {
    "normal": _normal,
    "uniform": _uniform,
    "pareto": _pareto,
    "paretonormal": _paretonormal,
}
"""For each distribution, the deviation in units of the jitter below which a share of draws lies."""
