"""Encoding by segment beside encoding whole: time and bytes of an update, cut layer by layer."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from emulator.codecs import EncoderContext, SegmentEncoder
from emulator.layout import Layout, Segment
from emulator.vectors import Frames, Vector

from .coding import BEFORE, GRADIENTS, best, every

Cuts = Sequence[Segment]


def measure(layout: Layout, repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds and bytes of an update of each codec, for normally distributed gradients.

    `whole` is one message, `cut` a message a layer; with `recut` the cuts change with each update,
    so that every memory moves.
    """
    layers = len(layout.layers)
    by_layer = [(layer, layer) for layer in range(layers, 0, -1)]
    halves = [(layers // 2 + 1, layers), (1, layers // 2)]
    draws = np.random.default_rng(0)
    gradients = [draws.standard_normal(layout.size, np.float32) for _ in range(GRADIENTS)]
    result: dict[str, dict[str, float]] = {}
    for codec in every():
        steps = {
            "whole": _whole(codec, layout, gradients),
            "cut": _cut(codec, layout, gradients, [by_layer]),
            "recut": _cut(codec, layout, gradients, [by_layer, halves]),
        }
        sizes = {}
        for _ in range(BEFORE):
            sizes = {f"{name} bytes": _length(step()) for name, step in steps.items()}
        del sizes["recut bytes"]
        result[codec.kind] = best(steps, repeats) | sizes
    return result


def _whole(codec: Any, layout: Layout, gradients: list[Vector]) -> Callable[[], list[Frames]]:
    encoder, coming = codec.start(_place(layout)), cycle(gradients)
    return lambda: [encoder.encode(next(coming))]


def _cut(
    codec: Any, layout: Layout, gradients: list[Vector], cuts: Sequence[Cuts]
) -> Callable[[], list[Frames]]:
    """Encode each gradient by the next of `cuts`."""
    encoder = SegmentEncoder(codec, _place(layout))
    coming, cutting = cycle(gradients), cycle(cuts)

    def step() -> list[Frames]:
        gradient = next(coming)
        return [encoder.encode(one, gradient[layout.place(one)]) for one in next(cutting)]

    return step


def _length(messages: list[Frames]) -> int:
    return sum(len(frame) for frames in messages for frame in frames)


def _place(layout: Layout) -> EncoderContext:
    return EncoderContext(layout, np.random.default_rng(0))
