"""Jobs for all cores, and each thread's tools. Threads help, as learners release Python's lock.

The thread that waits for a result does jobs meanwhile. So there are never more busy threads than
cores: one more would evict the others' data from the caches.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....layout import Layout
from ....learning.learners.graph import GraphEvaluator, GraphLearner
from ....learning.learners.numpy import NumpyEvaluator, NumpyLearner, NumpyStages
from ....learning.learners.staged_graph import StagedGraph
from ....learning.learners.staged_learner import StagedNetwork
from ....vectors import Vector

Tool = TypeVar("Tool")
Result = TypeVar("Result")

AHEAD = 4
"""The most jobs for each tool that wait. Each holds memory, for the most part a model."""


class Job(Generic[Result]):
    """A function to be called once with a tool, and its result."""

    def __init__(self, pool: "Pool[Any]", work: Callable[[Any], Result]) -> None:
        self._pool = pool
        self._work: Callable[[Any], Result] | None = work
        self._done = Event()
        self._result: list[Result] = []  # empty until the job is done
        self._error: BaseException | None = None

    def result(self) -> Result:
        """Wait for the job; return the result or raise the error.

        Only the owner of the pool may call this: it does jobs while it waits.
        """
        while not self._done.is_set() and self._pool.help():
            pass
        return self.awaited()

    def awaited(self) -> Result:
        """Wait for the result and return the result, from within a job submitted later.

        Jobs begin in the order of submission, so this job has begun and the wait ends.
        """
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def do(self, tool: Any) -> None:
        """Do the job, once. The function is freed, and mostly a model with the function."""
        work, self._work = self._work, None
        if work is None:
            raise RuntimeError("it is done already")
        try:
            try:
                self._result.append(work(tool))
            except Exception as error:
                self._error = error
            self._done.set()
        except BaseException as error:
            # A signal struck the pool's owner while it did the job. The owner gets the signal, as
            # the job's result may never be asked for; threads that wait for the job get an error.
            if not self._done.is_set():
                self._error = error
            self._done.set()  # once more: the signal may have come before all waiters were woken
            raise


class Pool(Generic[Tool]):
    """Threads with a tool per thread. Jobs begin in the order of submission."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Start a thread per tool. The first tool is for the caller."""
        self._tool, *others = tools
        self._most = AHEAD * len(tools)
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._threads = [Thread(target=self._work, args=(tool,), daemon=True) for tool in others]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[Tool], Result]) -> Job[Result]:
        """Return a job for `work`, called with a tool. While too many jobs wait, do jobs first."""
        while self._jobs.qsize() >= self._most and self.help():
            pass
        job = Job(self, work)
        self._jobs.put(job)
        return job

    def help(self) -> bool:
        """Do the job that has waited longest, in this thread; return whether a job waited."""
        try:
            job = self._jobs.get_nowait()
        except Empty:
            return False
        if job is not None:
            job.do(self._tool)
        return True

    def close(self) -> None:
        """Drop jobs in the queue, and wait for jobs already begun."""
        with suppress(Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, tool: Tool) -> None:
        while (job := self._jobs.get()) is not None:  # None ends the thread
            job.do(tool)


Inputs: TypeAlias = NDArray[np.float32]
Labels: TypeAlias = NDArray[np.int32]


class ThreadLearner(Protocol):
    """Computes gradients, for a single thread."""

    def gradient(self, theta: Vector, x: Inputs, y: Labels) -> tuple[Vector, float]:
        """Return the gradient and the mean loss of the mini-batch (`x`, `y`) at `theta`."""


class ThreadEvaluator(Protocol):
    """Measures models, for a single thread."""

    def evaluate(self, theta: Vector, x: Inputs, y: Labels) -> tuple[float, float]:
        """Return the number of right answers over (`x`, `y`), or the sum of the absolute errors of
        a regression; and the sum of the losses."""


@dataclass(frozen=True)
class ThreadTools:
    """A thread's tools. TensorFlow's sessions and NumPy's scratch memory are not shared."""

    learner: ThreadLearner
    evaluator: ThreadEvaluator
    part: StagedNetwork | None = None
    """The layers before the cut of a model; None if devices compute whole models."""


def tools_factory(
    learner: str, layout: Layout, graph: Path | None, cut: int | None = None
) -> Callable[[], ThreadTools]:
    """Return a function to make a thread's tools.

    `learner` is `numpy` or `tensorflow`, which needs the exported `graph` of the model. `cut` is
    the last layer of the devices, if the model is cut.
    """
    if learner == "numpy":
        return lambda: ThreadTools(
            NumpyLearner(layout),
            NumpyEvaluator(layout),
            NumpyStages(layout, cut) if cut else None,
        )
    if graph is None:
        raise TypeError("TensorFlow needs an exported model")
    return lambda: ThreadTools(
        GraphLearner(graph), GraphEvaluator(graph), StagedGraph(graph, cut) if cut else None
    )
