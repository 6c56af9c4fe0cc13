"""Aggregations: rules that make a step of several gradients, even if some devices lie.

To add an aggregation: write a file, name the class here, and add a row to the tests' table.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..plugins import Family, plain
from .base import Aggregation
from .krum import Krum
from .mean import Mean
from .median import Median
from .multi_krum import MultiKrum
from .norm_clip import NormClip
from .trimmed_mean import TrimmedMean

AnyAggregation: TypeAlias = Mean | Median | TrimmedMean | Krum | MultiKrum | NormClip

FAMILY = Family("aggregation", AnyAggregation, Aggregation)


def make(description: Mapping[str, Any]) -> AnyAggregation:
    """Build the aggregation described by `plain`."""
    aggregation: AnyAggregation = FAMILY.make(description)
    return aggregation


__all__ = [
    "FAMILY",
    "Aggregation",
    "AnyAggregation",
    "Krum",
    "Mean",
    "Median",
    "MultiKrum",
    "NormClip",
    "TrimmedMean",
    "make",
    "plain",
]
