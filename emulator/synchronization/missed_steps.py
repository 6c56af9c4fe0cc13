"""Counts of the steps that a server made without a device, as its update came after the patience.

Counting takes O(1) for a step, however many devices are given up: a device's count is a difference
of two step numbers.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..plugins.stateful import Stateful


class LeftOutCount(NamedTuple):
    """Steps of the synchronizer that were made without `node`, since the begin of the run."""

    node: str
    steps: int
    of: int
    """Steps that were made with and without the node."""


class LeftOut(Stateful):
    """Counts steps without the devices that were given up after the patience."""

    STATE = ("_steps", "_since", "_before", "_given_up")

    def __init__(self) -> None:
        self._steps = 0
        self._since: dict[str, int] = {}  # by device given up: the steps before it was
        self._before: dict[str, int] = {}  # steps without a device before it was given up last
        self._given_up: list[str] = []  # since the last `take_left_out`

    def give_up(self, nodes: Iterable[str]) -> None:
        """Count the steps without `nodes` from here on."""
        for node in sorted(nodes):
            if node not in self._since:
                self._since[node] = self._steps
                self._given_up.append(node)

    def back(self, node: str) -> None:
        """Count the steps without `node` no more; do nothing if it was not given up."""
        since = self._since.pop(node, None)
        if since is not None:
            self._before[node] = self._before.get(node, 0) + self._steps - since

    def step(self) -> None:
        """Count a step."""
        self._steps += 1

    def take_left_out(self) -> list[LeftOutCount]:
        """Return the counts that are to be recorded now; call after each step.

        A device given up since the last call is due if its count is a power of two. All devices
        given up are due if the number of steps is: so a device has O(log steps) records.
        """
        nodes, self._given_up = self._given_up, []
        everyone = _power_of_two(self._steps)
        counts = map(self._count, dict.fromkeys([*nodes, *self._since]) if everyone else nodes)
        return [
            count for count in counts if count.steps and (everyone or _power_of_two(count.steps))
        ]

    def left_out(self) -> list[LeftOutCount]:
        """Return the count of every device that a step was made without."""
        counts = map(self._count, dict.fromkeys([*self._before, *self._since]))
        return [count for count in counts if count.steps]

    def _count(self, node: str) -> LeftOutCount:
        now = self._steps - self._since.get(node, self._steps)
        return LeftOutCount(node, self._before.get(node, 0) + now, self._steps)


def _power_of_two(number: int) -> bool:
    return not number & (number - 1)
