"""When each container may start, and how long the run waits for its hello.

Containers start in waves: as many at once as the host's cores can carry. If a hundred booted side
by side each would take as long as all, and say hello when the last one does; so each takes a few
seconds, and all of them together as long as before.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping

from ...core.server import GATHERING

AHEAD = 4.0
"""Cores that booting nodes may want for each core that the engine has: while some of them wait for
the engine or for files others compute, also where the host has more to do. Of two cores eight of
them leave each a few seconds."""

NAMED = 8
"""Nodes that a message names; it counts the others."""


class Gathering:
    """The nodes of a run that have not said hello: to be started, or waited for."""

    def __init__(self, shares: Mapping[str, float], cores: float) -> None:
        """`shares`: the cores that each node may use, in the order in which the nodes start; 0 for
        one that takes what the others leave."""
        self._shares = {node: min(1.0, share) for node, share in shares.items()}
        self._room = AHEAD * cores
        self._waiting = deque(shares)
        self._booting: set[str] = set()
        self._started: dict[str, float] = {}
        self._greeted: set[str] = set()

    def admitted(self) -> Iterator[str]:
        """Yield each node that may start now, once."""
        while self._waiting and self._fits(self._waiting[0]):
            node = self._waiting.popleft()
            self._booting.add(node)
            yield node

    def _fits(self, node: str) -> bool:
        wanted = math.fsum(self._shares[one] for one in (node, *self._booting))
        return wanted <= self._room or not self._booting

    def started(self, node: str, now: float) -> None:
        """Count from `now` on how long `node` takes to say hello."""
        self._started[node] = now

    def greeted(self, node: str) -> None:
        self._greeted.add(node)
        self._booting.discard(node)

    def words(self) -> str:
        """How far it is, as the view shows it."""
        total, started = len(self._shares), len(self._started)
        if started < total:
            return f"containers: {started} of {total} started, {len(self._greeted)} said hello"
        return f"waiting for {total - len(self._greeted)} of {total} nodes to say hello"

    def late(self, now: float) -> str:
        """Return what to say if a node has not said hello in time, else the empty string."""
        waits = {node: now - at for node, at in self._started.items() if node not in self._greeted}
        if max(waits.values(), default=0.0) <= GATHERING:
            return ""
        longest = sorted(waits, key=lambda node: -waits[node])
        named = ", ".join(
            f"{node} in {waits[node]:.0f} s{self._quota(node)}" for node in longest[:NAMED]
        )
        more = f" and {len(longest) - NAMED} more" if len(longest) > NAMED else ""
        return (
            f"no hello from {named}{more}: each node has {GATHERING:.0f} s from its container's "
            "start"
        )

    def _quota(self, node: str) -> str:
        share = self._shares[node]
        return f" (with {100 * share:.3g}% of a core)" if 0 < share < 1 else ""
