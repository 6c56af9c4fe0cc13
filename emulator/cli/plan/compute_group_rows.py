"""Rows about compute groups for `emulate check`: the members, their mini-batches and times."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from ...costs.compute_groups import compute_groups, dealt_batches
from ...costs.computing_times import known_time
from ...scenario import Scenario


@dataclass(frozen=True)
class BatchRow:
    """Neighbours in a compute group with mini-batches of one size."""

    devices: tuple[str, ...]
    examples: int
    """Number of examples in the mini-batch of each device."""
    step: float | None
    """Mean seconds of a step on a whole core, from `virtual.step` or from this host's calibration;
    None: neither is known. Of a cut model, it is the time of both parts."""


@dataclass(frozen=True)
class GroupRow:
    """A compute group: number from 0, and members."""

    number: int
    batches: tuple[BatchRow, ...]

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON types."""
        return asdict(self)


def group_rows(scenario: Scenario) -> list[GroupRow]:
    """Return a row for each compute group of `scenario`; [] without groups."""
    sizes = dealt_batches(scenario)
    times = {size: known_time(scenario, size) for size in set(sizes.values())}
    return [
        GroupRow(
            number,
            tuple(
                BatchRow(tuple(names), examples, times[examples])
                for examples, names in groupby(group, key=sizes.__getitem__)
            ),
        )
        for number, group in enumerate(compute_groups(scenario))
    ]


def spans(names: Sequence[str]) -> str:
    """Return `names` in words, sequences of numbers shortened: `a-0 … a-3, b`."""
    words = []
    # neighbours whose number rises by one belong together: number - position is constant
    for _, run in groupby(enumerate(names), key=lambda item: _series(item[1], item[0])):
        members = [name for _, name in run]
        many = len(members) > 2
        words += [f"{members[0]} … {members[-1]}"] if many else members
    return ", ".join(words)


def _series(name: str, position: int) -> tuple[str, int | None]:
    """Return a key that neighbours with the same name and rising numbers share."""
    group, _, number = name.rpartition("-")
    if not number.isdigit():
        return name, None
    return group, int(number) - position
