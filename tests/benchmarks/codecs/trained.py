"""What codings make of the gradients of a model that has trained for a while: they are no noise."""

import math
from functools import partial
from statistics import mean
from typing import Any

from emulator.chance import stream
from emulator.codecs import TopK
from emulator.codecs.indices import CODINGS
from emulator.learning import datasets, models
from emulator.learning.learners.export import exported
from emulator.learning.learners.graph import GraphLearner
from emulator.units import Fraction
from emulator.vectors import Vector

from ..gradient import BATCH, DATASET, MODEL
from .coding import best

KEEP = Fraction(0.01)
RATE = 0.1
LOOKED_AT = range(100, 141, 10)
"""Updates after which gradients are taken."""
WRITTEN = (("gap", "f32"), ("golomb", "f16"), ("golomb", "int8"), ("matrix", "ternary"))
"""Pairs of index and value coding whose whole updates are weighed."""


def measure(repeats: int) -> dict[str, Any]:
    """Bits an index and milliseconds of each coding, and how many times smaller updates are."""
    layout = models.find(MODEL).layout
    result = gradients()
    codec = TopK(KEEP)
    sets = [codec.decode(codec.encode(gradient, layout), layout).indices for gradient in result]
    chosen = [item for item in sets if item is not None]
    entries = chosen[0].size
    updates = {}
    for indices, values in WRITTEN:
        coded = TopK(KEEP, indices=indices, values=values)  # type: ignore[arg-type]
        sent = mean(sum(map(len, coded.encode(gradient, layout))) for gradient in result)
        updates[f"{indices}, {values}"] = 4 * layout.size / sent
    rows = {}
    for name, coding in CODINGS.items():
        frames = [coding.encode(item, layout) for item in chosen]
        rows[name] = {
            "bits": mean(8 * len(frame) / entries for frame in frames),
            **best(
                {
                    "encode": partial(coding.encode, chosen[0], layout),
                    "decode": partial(coding.decode, frames[0], entries, layout),
                },
                repeats,
            ),
        }
    least = math.log2(math.comb(layout.size, entries)) / entries
    return {"entries": entries, "least": least, "indices": rows, "updates": updates}


def gradients() -> list[Vector]:
    """Gradients of a learner that descends on mini-batches drawn by itself."""
    learner, theta = GraphLearner(exported(MODEL)), models.find(MODEL).initial(1)
    examples, draws = datasets.load(DATASET).train, stream("benchmarks/trained")
    result = []
    for number in range(max(LOOKED_AT) + 1):
        batch = examples.batch(draws.choice(len(examples), BATCH, replace=False))
        gradient, _ = learner.gradient(theta, *batch)
        if number in LOOKED_AT:
            result.append(gradient)
        theta = theta - RATE * gradient
    return result
