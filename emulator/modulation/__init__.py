"""What the server makes of stale gradients. To add one: its file, its name here, its test row."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from .. import plugins
from ..plugins import plain
from .base import Modulation, Modulator
from .constant import Constant
from .per_parameter import PerParameter
from .staleness import Staleness

AnyModulation: TypeAlias = Constant | Staleness | PerParameter


def make(description: Mapping[str, Any]) -> AnyModulation:
    """The modulation that `plain` described."""
    modulation: AnyModulation = plugins.make(AnyModulation, description)
    return modulation


__all__ = [
    "AnyModulation",
    "Constant",
    "Modulation",
    "Modulator",
    "PerParameter",
    "Staleness",
    "make",
    "plain",
]
