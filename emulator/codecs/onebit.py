"""Codec `onebit`: one bit an entry, two numbers a column (1-bit SGD; Seide et al., 2014)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import frame_checks, packing
from .base import ByteCount, Encoder, EncoderContext
from .feedback import BUILT_IN, ErrorFeedback, StatelessEncoder


@dataclass(frozen=True)
class OneBit:
    """1-bit SGD: in each column, entries below zero become their mean, all others their own mean.

    Seide et al. (2014), section 2. A column holds the weights that lead to one unit or filter: all
    entries with the same last index. A variable of one dimension is one column. Error feedback is
    built in.
    """

    kind: Literal["onebit"] = "onebit"
    no_feedback: ClassVar[str] = BUILT_IN

    def start(self, context: EncoderContext) -> Encoder:
        return ErrorFeedback(StatelessEncoder(self, context.layout), self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        """Return the frames of `gradient`, to which the residual is already added."""
        frame_checks.check_finite(gradient, layout)
        negative = gradient < 0
        lower, upper = np.minimum(gradient, 0), np.maximum(gradient, 0)
        means = []
        for columns, part in _columns(layout):
            below = np.count_nonzero(negative[part].reshape(-1, columns), axis=0)
            above = (part.stop - part.start) // columns - below
            sides = ((lower, below), (upper, above))
            means.append([_mean(side[part].reshape(-1, columns), counts) for side, counts in sides])
        # magnitudes suffice: the first row belongs to the entries below zero
        scales = np.abs(np.concatenate(means, axis=1)).astype("<f4")
        return scales.tobytes(), packing.pack_signs(negative)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        scale_frame, sign_frame = frame_checks.check_count(frames, 2)
        total = sum(columns for columns, _ in _columns(layout))
        below, above = frame_checks.scales(scale_frame, 2 * total).reshape(2, total)
        negative = packing.unpack_signs(sign_frame, layout.size)
        # Choose between two floats by their bits: a boolean mask takes five times as long.
        # `chosen` is all ones where negative; high ^ (ones & difference) = low.
        chosen = np.negative(negative.astype(np.uint32))
        high = above.view(np.uint32)
        difference = high ^ (-below).view(np.uint32)
        first = 0
        for columns, part in _columns(layout):
            # the scales of the variable's columns, broadcast over its rows
            scales_part = slice(first, first + columns)
            table = chosen[part].reshape(-1, columns)
            table &= difference[scales_part]
            table ^= high[scales_part]
            first += columns
        return Gradient(chosen.view(np.float32))

    def count(self, frames: Frames) -> ByteCount:
        scales, bits = frames
        return ByteCount(values=len(bits), indices=0, headers=len(scales))


def _columns(layout: Layout) -> Iterator[tuple[int, slice]]:
    """Yield the number of columns of each variable, and its slice of the flat vector."""
    for variable, part in layout:
        yield variable.shape[-1] if len(variable.shape) > 1 else 1, part


def _mean(entries: Vector, counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return column means, the sums of `entries` [rows, columns] over `counts`; 0 for a count of
    0."""
    # in double precision: sums may be too large for a float32
    mean: NDArray[np.float64] = entries.sum(axis=0, dtype=np.float64) / np.maximum(counts, 1)
    return mean
