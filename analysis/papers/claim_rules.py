"""Verdicts: rules that tell whether measured numbers bear out a claim of a study's file.

A rule is strict: values that are missing, infinite or not a number bear out nothing, and neither
does an empty sequence.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import mean, median
from typing import Any

from .folder import declared

HOLDS, MISSED = "holds", "does not hold"


def word(holds: bool) -> str:
    """Return the verdict on a claim as text."""
    return HOLDS if holds else MISSED


def less(first: float, second: float) -> bool:
    """Return whether `first` is below `second`; infinity stands for a target never reached."""
    return first < second


def falls(values: Sequence[float]) -> bool:
    """Return whether `values` fall: no step rises, and the last value is below the first."""
    steps = all(then <= now for now, then in pairwise(values))
    return len(values) > 1 and steps and values[-1] < values[0]


def least_inside(values: Sequence[float]) -> bool:
    """Return whether the least of `values` lies strictly between both ends, and below both."""
    inside = [value for value in values[1:-1] if math.isfinite(value)]
    return bool(inside) and min(inside) < values[0] and min(inside) < values[-1]


def all_within(values: Sequence[float], bound: float) -> bool:
    """Return whether every one of `values` is at most `bound` away from 0."""
    return bool(values) and all(abs(value) <= bound for value in values)


def all_inside(spans: Sequence[tuple[float, float, float]]) -> bool:
    """Return whether each of `spans` (least, value, most) has its value between its ends."""
    return bool(spans) and all(low <= value <= high for low, value, high in spans)


def all_at_least(values: Sequence[float], bound: float) -> bool:
    """Return whether every one of `values` is `bound` or more."""
    return bool(values) and all(value >= bound for value in values)


def mean_at_least(values: Sequence[float], bound: float) -> bool:
    """Return whether the mean of `values` is `bound` or more."""
    return bool(values) and mean(values) >= bound


def paired_ratios(values: Sequence[float], bases: Sequence[float]) -> list[float]:
    """Return the ratio of each of `values` to that of `bases` with the same seed.

    Both have the seeds in the same order. The ratio is infinite where the value is infinite, and
    not a number where both are.
    """
    return [value / base for value, base in zip(values, bases, strict=True)]


def median_at_most(ratios: Sequence[float], bound: float) -> bool:
    """Return whether the median of `ratios` is at most `bound`; each must be a number."""
    known = bool(ratios) and not any(map(math.isnan, ratios))
    return known and median(ratios) <= bound


def all_at_most(ratios: Sequence[float], bound: float) -> bool:
    """Return whether every one of `ratios` is at most `bound`."""
    return bool(ratios) and all(ratio <= bound for ratio in ratios)


RULES: Mapping[str, Callable[..., bool]] = {
    "less": less,
    "falls": falls,
    "least-inside": least_inside,
    "all-within": all_within,
    "all-inside": all_inside,
    "all-at-least": all_at_least,
    "mean-at-least": mean_at_least,
}
"""Rules by their name in the file of a study."""


def verdict(study: str, name: str, words: str, *values: Any) -> list[str]:
    """Return the line of the claim `name` of `study`: claim, verdict on `values`, and `words`."""
    claim = declared(study)["claims"][name]
    bound = [claim["bound"]] if "bound" in claim else []
    return [claim["claim"], word(RULES[claim["rule"]](*values, *bound)), words]
