"""What each codec and coding costs, beside a plain copy and what others find the largest with."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, replace
from itertools import cycle
from typing import Any, get_args

import numpy as np

from emulator.codecs import DGC, AnyCodec, Codec, EncoderContext, TopK
from emulator.codecs.indices import CODINGS as INDICES
from emulator.codecs.sparse import Sparse
from emulator.codecs.values import CODINGS as VALUES
from emulator.core.server.parameters import Parameters
from emulator.layout import Layout, Variable
from emulator.modulation import PerParameter
from emulator.units import Fraction
from emulator.vectors import Vector

GRADIENTS = 4
"""Different ones that a codec meets in turn: of one that came again and again, an encoder with a
memory would send ever more."""
BEFORE = 5
"""Updates before an encoder is timed: after so many epochs of one each, DGC is warm."""
STALENESS = 7
"""Updates between a pull and its push, as with eight devices."""
WARMING = "dgc, first epoch"
LONG = 1_000_000
"""Updates of an epoch that does not end while it is timed."""
_NEEDED = {"keep": Fraction(0.01), "threshold": 2.5758}
"""What codecs cannot do without: a hundredth of normal numbers, by either."""

Steps = dict[str, Callable[[], Any]]
Times = dict[str, float]


def measure(layout: Layout, repeats: int) -> dict[str, dict[str, Any]]:
    """Milliseconds on one thread, for normally distributed gradients: the best of so many.

    `top` is the top-1 % codec and its rivals, `codecs` are all kinds with their bytes, `indices`
    and `values` all ways to write the chosen set. Each is timed in turn with its rivals.
    """
    draws = np.random.default_rng(0)
    gradients = [draws.standard_normal(layout.size, np.float32) for _ in range(GRADIENTS)]
    gradient = gradients[0]
    return {
        "top": _top(gradient, layout, repeats),
        "codecs": {
            **{codec.kind: _codec(codec, gradients, layout, repeats) for codec in every()},
            WARMING: _codec(DGC(), gradients, layout, repeats, epoch=LONG),
        },
        "indices": {name: _sparse(Sparse(name), gradient, layout, repeats) for name in INDICES},
        "values": {
            name: _sparse(Sparse("u32", name), gradient, layout, repeats) for name in VALUES
        },
    }


def every() -> list[Any]:
    """A codec of every kind."""
    return [
        kind(**{f.name: _NEEDED[f.name] for f in fields(kind) if f.default is MISSING})
        for kind in get_args(AnyCodec)
    ]


def flat(size: int) -> Layout:
    """A layout with a single variable of `size` parameters."""
    return Layout((Variable("all", (size,), "dense", 0),))


def _top(gradient: Vector, layout: Layout, repeats: int) -> Times:
    codec, there = TopK(keep=Fraction(0.01)), gradient.copy()
    encoder = codec.start(_place(layout))
    frames = encoder.encode(gradient)
    parameters = Parameters(gradient, 0.1, PerParameter().start(layout))

    def both() -> None:
        update = codec.decode(frames, layout)
        parameters.apply([(update, max(0, parameters.version - STALENESS))])

    for _ in range(STALENESS):
        both()
    return best(
        {
            "copy": gradient.copy,
            "copy over": lambda: np.copyto(there, gradient),
            "argpartition, encode": lambda: _argpartition(gradient, layout),
            "encode": lambda: encoder.encode(gradient),
            "decode": lambda: codec.decode(frames, layout),
            "decode, apply": both,
        },
        repeats,
    ) | _tensorflow(gradient, repeats)


def _argpartition(gradient: Vector, layout: Layout) -> Any:
    """The same as top-k with NumPy alone, on the whole vector, written alike."""
    most = gradient.size // 100
    result = np.argpartition(np.abs(gradient), gradient.size - most)[-most:]
    result.sort()
    return Sparse().encode(result.astype(np.uint32), gradient[result], layout)


def _tensorflow(gradient: Vector, repeats: int) -> Times:
    """Its `top_k` of the magnitudes, without any encoding; nothing where it is not installed."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import tensorflow as tf
    except ImportError:
        return {}
    tensor, most = tf.abs(tf.constant(gradient)), gradient.size // 100
    top = {"TensorFlow's top_k": lambda: tf.math.top_k(tensor, most, sorted=False)}
    return best(top, min(repeats, 3))


def _codec(
    codec: Codec, gradients: Sequence[Vector], layout: Layout, repeats: int, epoch: int = 1
) -> Times:
    encoder, coming = codec.start(replace(_place(layout), epoch=epoch)), cycle(gradients)
    for _ in range(BEFORE):
        frames = encoder.encode(next(coming))
    steps: Steps = {
        "encode": lambda: encoder.encode(next(coming)),
        "decode": lambda: codec.decode(frames, layout),
    }
    return best(steps, repeats) | {"bytes": sum(map(len, frames))}


def _sparse(sparse: Sparse, gradient: Vector, layout: Layout, repeats: int) -> Times:
    chosen = np.flatnonzero(np.abs(gradient) > _NEEDED["threshold"]).astype(np.uint32)
    worth = gradient[chosen]
    frames = sparse.encode(chosen, worth, layout)
    steps: Steps = {
        "encode": lambda: sparse.encode(chosen, worth, layout),
        "decode": lambda: sparse.decode(frames, layout, layout.size),
    }
    return best(steps, repeats) | {"bytes": sum(map(len, frames))}


def _place(layout: Layout) -> EncoderContext:
    return EncoderContext(layout, np.random.default_rng(0))


def best(steps: Steps, repeats: int) -> Times:
    """One after the other, again and again: what else the machine does meets all alike."""
    took: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeats):
        for name, step in steps.items():
            began = time.perf_counter()
            step()
            took[name].append(time.perf_counter() - began)
    return {name: 1e3 * min(times) for name, times in took.items()}
