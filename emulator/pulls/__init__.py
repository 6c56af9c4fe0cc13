"""Pulls: whether a worker gets the whole model or only the parameters that changed."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..plugins import Family, plain
from .base import EncodedModel, Pulls
from .delta import Delta
from .held_model import HeldModel
from .held_parts import HeldParts
from .whole_model import WholeModel

AnyPull: TypeAlias = WholeModel | Delta

FAMILY = Family("pulls", AnyPull, Pulls)


def make(description: Mapping[str, Any]) -> AnyPull:
    """Build the kind of pull described by `plain`."""
    pull: AnyPull = FAMILY.make(description)
    return pull


__all__ = [
    "FAMILY",
    "AnyPull",
    "Delta",
    "EncodedModel",
    "HeldModel",
    "HeldParts",
    "Pulls",
    "WholeModel",
    "make",
    "plain",
]
