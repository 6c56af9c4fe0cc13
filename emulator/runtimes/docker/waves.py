"""Starts containers side by side, as `Gathering` admits them."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from ...log.tail import LineTail
from ...node.part.roll import Member
from .gathering import Gathering

TOGETHER = 8
"""Containers that the engine is asked to start at once."""


class Waves:
    """The starts of the nodes of a run; none is under way after `close`."""

    def __init__(
        self, gathering: Gathering, start: Callable[[str], float], hellos: LineTail[Member]
    ) -> None:
        """`start` starts the container of a node and returns the time when it runs.

        `hellos` holds a line for each node that has said hello.
        """
        self._gathering, self._start, self._hellos = gathering, start, hellos
        self._starting: dict[Future[float], str] = {}
        self._pool = ThreadPoolExecutor(TOGETHER)

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
