"""Lanes in the row of a device, so that faults at the same time do not hide each other."""

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

Span: TypeAlias = tuple[str, str, float, float | None]
"""Device, kind, begin and end of a fault, in seconds; None: for good."""


class Lane(NamedTuple):
    """A share of a row: the lane `number`, from 0 at the top, of `lanes` lanes."""

    number: int = 0
    lanes: int = 1


def fault_lanes(rows: Iterable[Span]) -> dict[Span, Lane]:
    """Return a lane for each of `rows`: faults of a device that overlap have different lanes.

    A device has as many lanes as faults at the same time. A fault takes the first free lane.
    """
    free: dict[str, list[float]] = {}  # ends of the last faults in the lanes, by device
    numbers: dict[Span, int] = {}
    for row in sorted(rows, key=lambda row: row[2]):
        node, _, begin, until = row
        ends = free.setdefault(node, [])
        number = next((place for place, end in enumerate(ends) if end <= begin), len(ends))
        ends[number : number + 1] = [math.inf if until is None else until]
        numbers[row] = number
    return {row: Lane(number, len(free[row[0]])) for row, number in numbers.items()}
