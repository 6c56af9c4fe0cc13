"""What the top-1 % codec costs, beside a plain copy and NumPy's own way to find the largest."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from emulator.codecs import TopK
from emulator.core.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.modulation import PerParameter

STALENESS = 7
"""Updates between a pull and its push, as with eight devices."""


def milliseconds(layout: Layout, repeats: int) -> dict[str, float]:
    """The best time of each step on one thread, for normally distributed gradients."""
    codec = TopK(keep=0.01)
    gradient = np.random.default_rng(0).standard_normal(layout.size, np.float32)
    frames = codec.encode(gradient, layout)
    parameters = Parameters(gradient, 0.1, PerParameter().start(layout))

    def apply() -> None:
        update = codec.decode(frames, layout)
        began = time.perf_counter()
        parameters.apply([(update, max(0, parameters.version - STALENESS))])
        applied.append(time.perf_counter() - began)

    applied: list[float] = []
    _best(apply, repeats + STALENESS)
    return {
        "copy": _best(gradient.copy, repeats),
        "argpartition": _best(lambda: _argpartition(gradient), repeats),
        "encode": _best(lambda: codec.encode(gradient, layout), repeats),
        "decode": _best(lambda: codec.decode(frames, layout), repeats),
        "apply": 1e3 * min(applied[STALENESS:]),
    }


def flat(size: int) -> Layout:
    """One variable of that many parameters."""
    return Layout((Variable("all", (size,), "dense", 0),))


def _argpartition(gradient: np.ndarray[Any, Any]) -> Any:
    most = gradient.size // 100
    return np.argpartition(np.abs(gradient), gradient.size - most)[-most:]


def _best(step: Callable[[], Any], repeats: int) -> float:
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        step()
        took.append(time.perf_counter() - began)
    return 1e3 * min(took)
