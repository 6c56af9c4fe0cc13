"""Milliseconds of a processor that planning takes, against the number of layers."""

import time
from random import Random
from typing import Any

from emulator.schedules import DynaComm, IBatch, LayerCosts, Schedule, cut, timing

LAYERS = (16, 50, 152, 500, 1000)
PAPERS = 152
"""Layers up to which the paper's table is made: with 1,000 layers it takes a minute."""
SCHEDULES: dict[str, Schedule] = {
    "dynacomm": DynaComm(),
    "dynacomm, method: paper": DynaComm(method="paper"),
    "ibatch": IBatch(),
}
BASELINE = "the spans of a plan"
"""The evaluation of a plan that is there, both phases: a few additions for each layer."""

Figures = dict[int, dict[str, float | None]]
"""By number of layers and by name: milliseconds; None where nothing was measured."""


def measure(layers: tuple[int, ...] = LAYERS, repeats: int = 10) -> Figures:
    """Return the best of `repeats` times for both phases of random nets."""
    return {number: _measure(costs(number), repeats) for number in layers}


def costs(layers: int) -> LayerCosts:
    """Return costs of a net of `layers` layers: heavy tails, a set-up as long as a median layer."""
    rng = Random(f"benchmarks/planning/{layers}")
    pull, forward, backward, push = (
        tuple(1e-3 * rng.paretovariate(1.2) for _ in range(layers)) for _ in range(4)
    )
    return LayerCosts(pull, forward, backward, push, 2e-3, 2e-3)


def _measure(net: LayerCosts, repeats: int) -> dict[str, float | None]:
    cuts = cut(DynaComm(), net)
    took: dict[str, float | None] = {
        BASELINE: _best(lambda: timing.iteration(cuts, net).seconds, repeats)
    }
    for name, schedule in SCHEDULES.items():
        long = getattr(schedule, "method", "") == "paper"
        if long and len(net.pull) > PAPERS:
            took[name] = None
        else:
            took[name] = _best(lambda plan=schedule: cut(plan, net), 2 if long else repeats)
    return took


def _best(work: Any, repeats: int) -> float:
    """Return the least milliseconds of a processor that `work` took."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return 1e3 * min(times)
