"""How many gradients a second TensorFlow's C library finds here, with nothing around it."""

import multiprocessing
import time
from typing import Any

import numpy as np

from emulator.learning import datasets, models
from emulator.learning.learners.export import exported
from emulator.learning.learners.graph import GraphLearner

MODEL, DATASET, BATCH = "mnist-cnn", "mnist", 10
_WARM = 30
_BATCHES = 50

_fork = multiprocessing.get_context("fork")


def rate(processes: int, seconds: float) -> float:
    """Gradients per second of several processes together, with a thread in every process.

    More of them than cores push each other's data out of the caches, as devices do.
    """
    exported(MODEL)  # once, before they race for it
    ready, counted = _fork.Barrier(processes), _fork.SimpleQueue()
    workers = [
        _fork.Process(target=_work, args=(ready, counted, seconds), daemon=True)
        for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    total = sum(counted.get() for _ in workers)
    for worker in workers:
        worker.join()
    return total


def _work(ready: Any, counted: Any, seconds: float) -> None:
    learner = GraphLearner(exported(MODEL))
    theta = models.find(MODEL).initial(1)
    examples = datasets.load(DATASET).train
    batches = [examples.batch(rows) for rows in np.arange(_BATCHES * BATCH).reshape(_BATCHES, -1)]
    for x, y in batches[:_WARM]:
        learner.gradient(theta, x, y)
    ready.wait(60)
    number, began = 0, time.monotonic()
    while time.monotonic() < began + seconds:
        learner.gradient(theta, *batches[number % _BATCHES])
        number += 1
    counted.put(number / (time.monotonic() - began))
