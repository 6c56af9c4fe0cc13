"""Schedules: cuts of pulls and pushes into segments, with which transfer overlaps computing.

To add a schedule: write a file, name the class here, and add a row to the tests' table.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..plugins import Family, plain
from .base import Cuts, LayerCosts, Schedule, Segments, cut
from .dynacomm import DynaComm
from .ibatch import IBatch
from .layer_by_layer import LayerByLayer
from .sequential import Sequential

AnySchedule: TypeAlias = Sequential | LayerByLayer | IBatch | DynaComm

FAMILY = Family("schedules", AnySchedule, Schedule)


def make(description: Mapping[str, Any]) -> AnySchedule:
    """Build the schedule described by `plain`."""
    schedule: AnySchedule = FAMILY.make(description)
    return schedule


__all__ = [
    "FAMILY",
    "AnySchedule",
    "Cuts",
    "DynaComm",
    "IBatch",
    "LayerByLayer",
    "LayerCosts",
    "Schedule",
    "Segments",
    "Sequential",
    "cut",
    "make",
    "plain",
]
