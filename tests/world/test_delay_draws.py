"""Draws of delays: netem's distributions, correlations that leave them alone, sums of jitters."""

from itertools import islice, pairwise
from pathlib import Path
from random import Random
from statistics import correlation, fmean, pstdev
from typing import get_args

import pytest

from emulator.units import Fraction, Seconds
from emulator.world.links.delay_draws import QUANTILES, DelayDraws, Jitter, jitters, moments
from emulator.world.links.link import Distribution, Side

TABLES = Path("/usr/lib/x86_64-linux-gnu/tc")
MOMENTS: dict[Distribution, tuple[float, float]] = {
    "normal": (0.0, 1.0),
    "uniform": (0.0, 3**-0.5),
    "pareto": (-0.033, 0.82),
    "paretonormal": (-0.025, 0.834),
}
"""Mean and deviation in units of the jitter."""


def _drawn(jitter: Jitter, number: int = 20_000) -> list[float]:
    draws = DelayDraws(Random(5), [jitter])
    return [draws.deviation() for _ in range(number)]


@pytest.mark.mostly_slow(quick=2)
@pytest.mark.parametrize("rho", [0.0, 0.6])
@pytest.mark.parametrize("distribution", get_args(Distribution))
def test_each_distribution_keeps_its_moments_with_a_correlation(
    distribution: Distribution, rho: float
) -> None:
    values = _drawn(Jitter(2.0, distribution, rho))
    mean, deviation = MOMENTS[distribution]
    assert moments(distribution) == pytest.approx((mean, deviation), abs=0.001)
    assert fmean(values) / 2 == pytest.approx(mean, abs=0.04)
    assert pstdev(values) / 2 == pytest.approx(deviation, rel=0.03)
    assert max(map(abs, values)) <= 8
    # the ranks have about the correlation asked for; of skewed values it is a little less
    seen = correlation(values[:-1], values[1:])
    assert rho - 0.12 <= seen <= rho + 0.03


@pytest.mark.skipif(not (TABLES / "pareto.dist").exists(), reason="needs iproute2's tables")
@pytest.mark.parametrize("distribution", ["normal", "pareto", "paretonormal"])
def test_the_quantiles_are_those_of_netems_tables(distribution: Distribution) -> None:
    lines = (TABLES / f"{distribution}.dist").read_text().splitlines()
    table = sorted(
        int(word) / 8192 for line in lines if not line.startswith("#") for word in line.split()
    )
    quantile = QUANTILES[distribution]
    shares = [(number + 0.5) / len(table) for number in range(len(table))]
    inner = list(zip(table, map(quantile, shares), strict=True))[16:-16]
    assert max(abs(theirs - ours) for theirs, ours in inner) < 0.09
    assert fmean(theirs - ours for theirs, ours in inner) == pytest.approx(0, abs=0.003)
    assert all(before <= after for before, after in pairwise(map(quantile, shares)))


def test_normal_jitters_add_up_in_one_and_others_stay_apart() -> None:
    three, four = (Side(delay=Seconds(9), jitter=Seconds(size)) for size in (3, 4))
    assert jitters(three, four) == (5.0, ())
    odd = Side(delay=Seconds(9), jitter=Seconds(2), distribution="pareto")
    tied = Side(delay=Seconds(9), jitter=Seconds(1), correlation=Fraction(0.5))
    together, others = jitters(three, odd, tied)
    assert (together, others) == (3.0, (Jitter(2, "pareto"), Jitter(1, "normal", 0.5)))
    assert jitters(Side(), Side()) == (0.0, ())


def test_an_uncorrelated_normal_jitter_takes_one_normal_number_a_packet() -> None:
    draws, same = DelayDraws(Random(1), [Jitter(3.0)]), Random(1)
    for number in islice(iter(lambda: same.gauss(), None), 50):
        assert draws.deviation() == 3 * min(4.0, max(-4.0, number))
