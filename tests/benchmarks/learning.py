"""How fast a model learns the first data set that fits, by plain SGD on one core.

`python -m tests.benchmarks.learning mnist-vgg [STEPS] [RATE] [BATCH] [--without-onednn]`
"""

import argparse
import math
import os
import time
from typing import Any

import numpy as np

from emulator.learning import datasets, models
from emulator.learning.learners.batches import Batches
from emulator.learning.learners.export import exported
from emulator.learning.learners.graph import GraphEvaluator, GraphLearner

SEED, CHUNK = 0, 100


def measure(name: str, steps: int, rate: float, size: int) -> dict[str, Any]:
    """Test accuracy after so many steps, CPU seconds of all, and milliseconds of the median."""
    model = models.find(name)
    fitting = (each.name for each in datasets.DATASETS.values() if model.task.takes(each.task))
    data, theta = datasets.load(next(fitting)), model.initial(SEED)
    batches = Batches(data.train, size, f"{SEED}/learning")
    learner, cpu = GraphLearner(exported(name)), []
    for _ in range(steps):
        x, y = next(batches)
        began = time.process_time()
        gradient, _ = learner.gradient(theta, x, y)
        cpu.append(time.process_time() - began)
        theta = theta - np.float32(rate) * gradient
    evaluator, right = GraphEvaluator(exported(name)), 0.0
    for start in range(0, len(data.test), CHUNK):
        right += evaluator.evaluate(theta, *data.test.batch(slice(start, start + CHUNK)))[0]
    median = 1e3 * float(np.median(cpu))
    guesses = len(data.test) * math.prod(model.task.answers)
    return {"accuracy": right / guesses, "cpu_s": sum(cpu), "step_ms": median}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="name of a model")
    parser.add_argument("steps", nargs="?", type=int, default=1500, help="steps of SGD")
    parser.add_argument("rate", nargs="?", type=float, default=0.05, help="learning rate")
    parser.add_argument("batch", nargs="?", type=int, default=32, help="examples of a mini-batch")
    parser.add_argument(
        "--without-onednn", action="store_true", help="with TensorFlow's own kernels"
    )
    asked = parser.parse_args()
    if asked.without_onednn:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    print(measure(asked.model, asked.steps, asked.rate, asked.batch))


if __name__ == "__main__":
    main()
