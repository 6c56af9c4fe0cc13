"""Modulations: how the server shortens the step of a stale gradient.

To add a modulation: write a file, name the class here, and add a row to the tests' table.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..plugins import Family, plain
from .base import Modulation, Modulator
from .constant import Constant
from .per_parameter import PerParameter
from .staleness import Staleness

AnyModulation: TypeAlias = Constant | Staleness | PerParameter

FAMILY = Family("modulation", AnyModulation, Modulation)


def make(description: Mapping[str, Any]) -> AnyModulation:
    """Build the modulation described by `plain`."""
    modulation: AnyModulation = FAMILY.make(description)
    return modulation


__all__ = [
    "FAMILY",
    "AnyModulation",
    "Constant",
    "Modulation",
    "Modulator",
    "PerParameter",
    "Staleness",
    "make",
    "plain",
]
