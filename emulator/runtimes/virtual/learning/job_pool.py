"""Work for all cores: TensorFlow and NumPy let go of Python's lock.

Whoever waits for a result works as well, so there are never more busy threads than cores: one more
would cost each of them what its caches hold.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Generic, TypeVar, cast

Tool = TypeVar("Tool")
Result = TypeVar("Result")

AHEAD = 4
"""Jobs for each tool that wait at most: what they hold, models for the most part, is memory."""


class Job(Generic[Result]):
    """Something that is done, or will be."""

    def __init__(self, pool: "Pool[Any]", work: Callable[[Any], Result]) -> None:
        self._pool = pool
        self._work: Callable[[Any], Result] | None = work
        self._done = Event()
        self._result: Result | None = None
        self._error: BaseException | None = None

    def result(self) -> Result:
        """What came of it; meanwhile the caller, who must own the pool, does its share."""
        while not self._done.is_set() and self._pool.help():
            pass
        return self.awaited()

    def awaited(self) -> Result:
        """What came of it, for another job: one that was asked for later."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return cast(Result, self._result)

    def do(self, tool: Any) -> None:
        """Once: what the work holds on to, a model for the most part, is let go of with it."""
        work, self._work = self._work, None
        if work is None:
            raise RuntimeError("it is done already")
        try:
            try:
                self._result = work(tool)
            except Exception as error:
                self._error = error
            self._done.set()
        except BaseException as error:
            # a signal came while the pool's owner did its share: the result may never be asked for
            if not self._done.is_set():
                self._error = error
            self._done.set()  # again, as it may have come before those who wait were told
            raise


class Pool(Generic[Tool]):
    """Jobs are begun in the order in which they were asked for, each with a tool of its own."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """The caller works with the first tool, a thread with each of the others."""
        self._tool, *others = tools
        self._most = AHEAD * len(tools)
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._threads = [Thread(target=self._work, args=(tool,), daemon=True) for tool in others]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[Tool], Result]) -> Job[Result]:
        """Have it done; where too many wait already, do one of them first."""
        while self._jobs.qsize() >= self._most and self.help():
            pass
        job = Job(self, work)
        self._jobs.put(job)
        return job

    def help(self) -> bool:
        """Do the job that has waited longest; whether there was one."""
        try:
            job = self._jobs.get_nowait()
        except Empty:
            return False
        if job is not None:
            job.do(self._tool)
        return True

    def close(self) -> None:
        """Drop what has not begun, and wait for the rest."""
        with suppress(Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, tool: Tool) -> None:
        while (job := self._jobs.get()) is not None:
            job.do(tool)
