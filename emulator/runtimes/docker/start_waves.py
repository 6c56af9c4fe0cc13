"""Decides when containers may start, and how long the run waits for their hellos.

Containers start in waves: as many at once as the host's cores can carry. If a hundred containers
booted side by side, each would take as long as all of them together, and say hello when the last
does. In waves each takes a few seconds, and the whole start-up as long as before.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from ...core.server.parameter_server import GATHERING
from ...errors import first_of
from ...node.part.server_chores import Member
from .engine.client import MOST_CALLS

AHEAD = 4.0
"""Nodes that may boot at once for each core of the engine.

More than 1, as some nodes wait for the engine or for files while others compute. Eight nodes at
once on two cores boot in a few seconds each, also on a host with other work."""

MOST_NAMED = 8
"""Number of nodes that a message names; the others are only counted."""


class Gathering:
    """The nodes of a run on their way up: waiting, booting, greeted (the hello has arrived)."""

    def __init__(self, nodes: Sequence[str], cores: float, beside: Collection[str] = ()) -> None:
        """`nodes`: in the order of the starts; those of `beside` take no other's place.

        `cores`: those of the engine.
        """
        self._room = AHEAD * cores  # nodes that may boot at once, as each wants a core
        self._waiting = deque(nodes)
        self._beside = frozenset(beside)
        self._total = len(nodes)
        self._booting: set[str] = set()
        self._started: dict[str, float] = {}
        self._greeted: set[str] = set()
        self._news: list[str] = []

    def admitted(self) -> Iterator[str]:
        """Yield the nodes that may start at this moment; no node is yielded twice."""
        while self._waiting and self._fits(self._waiting[0]):
            node = self._waiting.popleft()
            self._booting.add(node)
            yield node

    def _fits(self, node: str) -> bool:
        """Return whether `node` may boot beside the booting nodes; without any it always may."""
        wanted = len({node, *self._booting} - self._beside)
        return wanted <= self._room or not self._booting

    def started(self, node: str, now: float) -> None:
        """Take that the container of `node` runs since the time `now`, in emulated seconds."""
        self._started[node] = now

    def greeted(self, node: str) -> None:
        """Take that `node` has said hello to the server."""
        self._greeted.add(node)
        self._booting.discard(node)
        self._news.append(node)

    def take_news(self) -> list[str]:
        """Return the nodes that have said hello since the last call."""
        news, self._news = self._news, []
        return news

    @property
    def complete(self) -> bool:
        """Whether all nodes have said hello."""
        return len(self._greeted) == self._total

    def words(self) -> str:
        """Return the progress of the start-up as the view shows it."""
        total, started = self._total, len(self._started)
        if started < total:
            return f"containers: {started} of {total} started, {len(self._greeted)} said hello"
        return f"waiting for {total - len(self._greeted)} of {total} nodes to say hello"

    def late(self, now: float) -> str:
        """Return an error text if a node has not said hello in time, else the empty string."""
        waits = {node: now - at for node, at in self._started.items() if node not in self._greeted}
        if max(waits.values(), default=0.0) <= GATHERING:
            return ""
        longest = sorted(waits, key=lambda node: -waits[node])
        named = [f"{node} in {waits[node]:.0f} s" for node in longest]
        return (
            f"no hello from {first_of(named, MOST_NAMED)}: each node has {GATHERING:.0f} s from "
            "its container's start"
        )


class Hellos(Protocol):
    """The nodes that have said hello since the last look."""

    def read(self) -> Iterator[Member]: ...


class Waves:
    """The starts of the nodes of a run; none is under way after `close`."""

    def __init__(self, gathering: Gathering, start: Callable[[str], float], hellos: Hellos) -> None:
        """`start` starts the container of a node and returns the time when it runs.

        `hellos` holds a line for each node that has said hello.
        """
        self._gathering, self._start, self._hellos = gathering, start, hellos
        self._starting: dict[Future[float], str] = {}
        self._pool = ThreadPoolExecutor(MOST_CALLS)

    @property
    def idle(self) -> bool:
        """Whether no start is under way."""
        return not self._starting

    def close(self) -> None:
        """Wait for the starts under way, and begin no other."""
        self._pool.shutdown(cancel_futures=True)

    def start_next(self) -> list[str]:
        """Start the admitted nodes, and return the nodes whose start is done since the last call.

        Raises what `start` raised.
        """
        for hello in self._hellos.read():
            self._gathering.greeted(hello.node)
        for node in self._gathering.admitted():
            self._starting[self._pool.submit(self._start, node)] = node
        return [self._started(start) for start in list(self._starting) if start.done()]

    def _started(self, start: Future[float]) -> str:
        node = self._starting.pop(start)
        self._gathering.started(node, start.result())
        return node
