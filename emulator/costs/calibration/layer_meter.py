"""A process that measures the CPU time of each layer's forward and backward pass.

`python -m emulator.costs.calibration.layer_meter MODEL GRAPH FOLDER BATCH_SIZE` prints the medians
as JSON. `GRAPH` is the folder of the exported model, `FOLDER` holds examples.
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np

from ...core.assembly import WorkerAssembly
from ...core.plan import WorkerPlan
from ...learning import models
from ...learning.datasets import shard
from ...learning.learners.batches import Batches
from ...learning.learners.device import staged_learner
from .record import rounded
from .step_meter import FEW, REST, SPAN, STEPS, WARM


def passes(model: models.Model, graph: Path, batches: Batches) -> dict[str, list[float]]:
    """Return the median CPU seconds of each layer: `forward` and `backward`, layer 1 first.

    The process rests before each iteration, as a worker does when a step is calibrated.
    """
    learner = staged_learner(graph, batches, clock=time.process_time)
    weights, layers = model.initial(0), (1, len(model.layout.layers))
    forward: list[list[float]] = []
    backward: list[list[float]] = []
    until = math.inf
    while len(forward) < WARM + (STEPS if time.monotonic() < until else FEW):
        if len(forward) == WARM:
            until = time.monotonic() + SPAN
        time.sleep(REST)
        learner.begin()
        forward.append(learner.forward(layers, weights))
        backward.append(learner.backward(layers)[1])
    return {"forward": _medians(forward), "backward": _medians(backward)}


def _medians(iterations: list[list[float]]) -> list[float]:
    """Return each layer's median, without the first `WARM` iterations."""
    return [rounded(float(median)) for median in np.median(iterations[WARM:], axis=0)]


def main() -> None:
    name, graph, folder, batch_size = sys.argv[1:]
    models.register_own(Path(graph))
    model, size = models.find(name), int(batch_size)
    plan = WorkerPlan(seed=0, batch_size=size, codec={"kind": "dense"}, noisy=model.noisy)
    # the batches of a worker, from the place that makes them for runs
    batches = WorkerAssembly(plan, model.layout).batches("meter", 0, shard.read(Path(folder)))
    print(json.dumps(passes(model, Path(graph), batches)))


if __name__ == "__main__":
    main()
