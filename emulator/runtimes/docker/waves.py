"""Starts containers side by side, each when `Gathering` admits it."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from ...log.tail import Tail
from .gathering import Gathering

TOGETHER = 8
"""Containers that the engine is asked to start at once."""


class Waves:
    """A context in which the nodes of a run start; at its end no start is under way."""

    def __init__(self, gathering: Gathering, start: Callable[[str], object], hellos: Tail) -> None:
        """`start` starts the container of a node; `hellos` tells which have said hello."""
        self._gathering, self._start, self._hellos = gathering, start, hellos
        self._starting: dict[Future[float], str] = {}

    def __enter__(self) -> "Waves":
        self._pool = ThreadPoolExecutor(TOGETHER)
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    @property
    def idle(self) -> bool:
        """Whether no start is under way."""
        return not self._starting

    def roll(self) -> list[str]:
        """Have the next nodes started; return those that have started since the last call.

        Raises what `start` raised.
        """
        for hello in self._hellos.read():
            self._gathering.greeted(hello["node"])
        for node in self._gathering.admitted():
            self._starting[self._pool.submit(self._timed, node)] = node
        return [self._started(done) for done in list(self._starting) if done.done()]

    def _timed(self, node: str) -> float:
        self._start(node)
        return time.monotonic()

    def _started(self, done: Future[float]) -> str:
        node = self._starting.pop(done)
        self._gathering.started(node, done.result())
        return node
