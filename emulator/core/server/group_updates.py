"""Updates of compute groups: the number of the group, and the staleness in steps of groups."""

from collections.abc import Sequence

from ...plugins.stateful import Stateful


class GroupUpdates(Stateful):
    """Counts the steps of groups, and keeps the count at the last pull of every worker.

    The memory is a number for every worker, dead workers included.
    """

    STATE = ("_steps", "_at_pull")

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        """Count the steps of `groups`, given as names of workers."""
        self._group = {name: number for number, group in enumerate(groups) for name in group}
        self._steps = 0
        self._at_pull: dict[str, int] = {}  # steps by worker

    def group(self, node: str) -> int:
        """Return the number of the group of `node`, from 0."""
        return self._group[node]

    def pulled(self, node: str) -> None:
        """Record that `node` was sent the newest model."""
        self._at_pull[node] = self._steps

    def stepped(self, nodes: Sequence[str]) -> list[int]:
        """Count a step of updates by `nodes`; return how many steps of groups each is stale."""
        # a node whose update waits for its step is sent no other model before it
        stale = [self._steps - self._at_pull[node] for node in nodes]
        self._steps += 1
        return stale
