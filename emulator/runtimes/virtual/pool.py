"""Work for all cores, done by threads: TensorFlow and NumPy let go of Python's lock."""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Tool = TypeVar("Tool")
Result = TypeVar("Result")

AHEAD = 16
"""Jobs for each thread that wait at most: what they hold, models for the most part, is memory."""


class Pool(Generic[Tool]):
    """Runs jobs with one tool at a time each, in the order in which they were asked for."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """One thread for each tool; a tool is never used by two at once."""
        self._tools: SimpleQueue[Tool] = SimpleQueue()
        threads = 0
        for tool in tools:
            self._tools.put(tool)
            threads += 1
        self._most = AHEAD * threads
        self._threads = ThreadPoolExecutor(threads)
        self._waiting: deque[Future[Any]] = deque()

    def submit(self, job: Callable[[Tool], Result]) -> "Future[Result]":
        """Have it done; where too many wait already, wait for the oldest first."""
        while len(self._waiting) >= self._most:
            wait((self._waiting.popleft(),))
        future = self._threads.submit(self._do, job)
        self._waiting.append(future)
        return future

    def close(self) -> None:
        """Drop what has not begun, and wait for the rest."""
        self._threads.shutdown(cancel_futures=True)

    def _do(self, job: Callable[[Tool], Result]) -> Result:
        tool = self._tools.get()
        try:
            return job(tool)
        finally:
            self._tools.put(tool)
