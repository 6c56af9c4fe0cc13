"""What the training of a fleet takes at the very least: its gradients, codecs and steps, bare."""

import multiprocessing
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from emulator.codecs.base import decode_once
from emulator.core.server.parameters import Parameters
from emulator.learning import datasets, models
from emulator.learning.learners.export import exported
from emulator.learning.learners.graph import GraphLearner
from emulator.scenario.algorithms import ALGORITHMS
from emulator.vectors import Frames, Vector

from ..gradient import BATCH, DATASET, MODEL

ALGORITHM, RATE = "adacomp", 0.03
BLOCK = 50
"""Of one kind in turn."""

_fork = multiprocessing.get_context("fork")


def measure(processes: int, devices: int, rounds: int) -> dict[str, float]:
    """Milliseconds on the wall for a gradient, and for an update, of all processes together.

    They share nothing but the machine. Each has its part of the devices, which come in turn, and a
    server of its own: there is no clock, link or message, no log, no lock, nothing to wait for.
    Gradients alone and updates take turns, since a virtual machine is faster now and slower then.
    """
    exported(MODEL)  # once, before they race for it
    ready, took = _fork.Barrier(processes), _fork.SimpleQueue()
    mine = devices // processes
    workers = [
        _fork.Process(target=_work, args=(ready, took, mine, rounds), daemon=True)
        for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    result = [took.get() for _ in workers]
    for worker in workers:
        worker.join()
    each = 1e3 / (BLOCK * rounds * processes**2)
    return {what: each * sum(item[what] for item in result) for what in ("gradient", "update")}


def _work(ready: Any, took: Any, devices: int, rounds: int) -> None:
    works = _works(devices)
    seconds = dict.fromkeys(works, 0.0)
    for number in range(rounds + 1):
        for what, work in works.items():
            ready.wait(60)
            began = time.monotonic()
            for _ in range(BLOCK if number else devices + 1):
                work()
            seconds[what] += time.monotonic() - began if number else 0
    took.put(seconds)


def _works(devices: int) -> dict[str, Callable[[], Any]]:
    """To find a gradient, of the same model each time; and to play the next device's update."""
    algorithm, model = ALGORITHMS[ALGORITHM], models.find(MODEL)
    codec: Any = algorithm.codec  # one without a state and without dice
    layout, examples = model.layout, datasets.load(DATASET).train
    learner, dice = GraphLearner(exported(MODEL)), np.random.default_rng(1)
    state = Parameters(model.initial(1), RATE, algorithm.modulation.start(layout))
    initial = state.snapshot()

    def find(theta: Vector) -> Vector:
        return learner.gradient(theta, *examples.batch(dice.integers(len(examples), size=BATCH)))[0]

    def foresee() -> tuple[Frames, int]:  # at once, as a run does: the model is in the caches still
        return codec.encode(find(state.snapshot()), layout), state.version

    waiting = deque([foresee()] * devices)

    def update() -> None:
        frames, version = waiting.popleft()
        state.apply([(decode_once(frames, codec, layout), version)])
        waiting.append(foresee())
        state.forget(waiting[0][1])

    return {"gradient": lambda: find(initial), "update": update}
