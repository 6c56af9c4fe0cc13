"""Rules that tell whether measured numbers bear out a claim of a study's file.

A rule is strict: values that are missing or not a number bear out nothing, and neither does an
empty sequence. Infinity is the cost of a target that was never reached: it bears out nothing but
that another cost is less.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Any

REPRODUCED, PARTLY, NOT = "reproduced", "partly", "not"
"""Verdicts on a claim, and on a study."""

HOLDS, MISSED = "holds", "does not hold"


def word(holds: bool) -> str:
    """Return the verdict on a claim that is no paper's as text."""
    return HOLDS if holds else MISSED


def _finite(values: Sequence[float]) -> bool:
    return bool(values) and all(map(math.isfinite, values))


def less(first: float, second: float) -> bool:
    """Return whether `first` is below `second`; infinity stands for a target never reached."""
    return first < second


def falls(values: Sequence[float]) -> bool:
    """Return whether `values` fall: no step rises, and the last value is below the first."""
    steps = all(then <= now for now, then in pairwise(values))
    return len(values) > 1 and _finite(values) and steps and values[-1] < values[0]


def rises(values: Sequence[float]) -> bool:
    """Return whether `values` rise: no step falls, and the last value is above the first."""
    return falls([-value for value in values])


def least_inside(values: Sequence[float]) -> bool:
    """Return whether the least of `values` lies strictly between both ends, and below both."""
    inside = [value for value in values[1:-1] if math.isfinite(value)]
    return bool(inside) and min(inside) < values[0] and min(inside) < values[-1]


def all_within(values: Sequence[float], bound: float) -> bool:
    """Return whether every one of `values` is at most `bound` away from 0."""
    return _finite(values) and all(abs(value) <= bound for value in values)


def all_inside(spans: Sequence[tuple[float, float, float]]) -> bool:
    """Return whether each of `spans` (least, value, most) has its value between its ends."""
    return bool(spans) and all(low <= value <= high for low, value, high in spans)


def all_at_least(values: Sequence[float], bound: float) -> bool:
    """Return whether every one of `values` is `bound` or more."""
    return _finite(values) and all(value >= bound for value in values)


def all_at_most(values: Sequence[float], bound: float) -> bool:
    """Return whether every one of `values` is at most `bound`."""
    return _finite(values) and all(value <= bound for value in values)


def mean_at_least(values: Sequence[float], bound: float) -> bool:
    """Return whether the mean of `values` is `bound` or more."""
    return _finite(values) and mean(values) >= bound


def mean_at_most(values: Sequence[float], bound: float) -> bool:
    """Return whether the mean of `values` is at most `bound`."""
    return _finite(values) and mean(values) <= bound


def paired_ratios(values: Sequence[float], bases: Sequence[float]) -> list[float]:
    """Return the ratio of each of `values` to that of `bases` with the same seed.

    Both have the seeds in the same order. The ratio is infinite where the value is infinite, and
    not a number where both are.
    """
    return [value / base for value, base in zip(values, bases, strict=True)]


@dataclass(frozen=True)
class Rule:
    """A rule as a study's file names it."""

    holds: Callable[..., bool]
    bounded: bool = False
    """Whether a claim with the rule has a `bound`."""
    singly: bool = False
    """Whether the rule asks the same of every value, so that it can hold for some of them."""


RULES: Mapping[str, Rule] = {
    "less": Rule(less),
    "falls": Rule(falls),
    "rises": Rule(rises),
    "least-inside": Rule(least_inside),
    "all-within": Rule(all_within, bounded=True, singly=True),
    "all-inside": Rule(all_inside, singly=True),
    "all-at-least": Rule(all_at_least, bounded=True, singly=True),
    "all-at-most": Rule(all_at_most, bounded=True, singly=True),
    "mean-at-least": Rule(mean_at_least, bounded=True),
    "mean-at-most": Rule(mean_at_most, bounded=True),
}
"""Rules by their name in the file of a study."""


def verdict(rule: str, bound: float | None, *values: Any) -> str:
    """Return the verdict of `rule` on `values`, the arguments of the rule before its bound.

    A rule that asks the same of every value gives `partly` if it holds for some values only.
    """
    judged = RULES[rule]
    bounds = [] if bound is None else [bound]
    if judged.holds(*values, *bounds):
        return REPRODUCED
    if judged.singly:
        return overall(
            [REPRODUCED if judged.holds([value], *bounds) else NOT for value in values[0]]
        )
    return NOT


def overall(verdicts: Sequence[str]) -> str:
    """Return the verdict on a whole from the verdicts on its parts, which may be none."""
    for same in (REPRODUCED, NOT):
        if all(verdict == same for verdict in verdicts):
            return same if verdicts else NOT
    return PARTLY
