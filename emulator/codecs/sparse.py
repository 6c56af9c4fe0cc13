"""Frames of a sparse gradient: a coding of the chosen indices and a coding of their values.

The frames are the indices, the values, and the values' scales if their coding has any. An entry
that is zero, or would decode to zero, is never sent: a sent entry counts as touched (Hardy et al.,
2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Gradient, Indices, Vector
from . import frame_checks
from .base import ByteCount, DecodedFrames
from .indices import CODINGS as INDEX_CODINGS
from .indices import IndexCoding
from .values import CODINGS as VALUE_CODINGS
from .values import ValueCoding


@dataclass(frozen=True)
class Sparse:
    """An index coding and a value coding, by their names in a scenario."""

    indices: IndexCoding = "gap"
    values: ValueCoding = "f32"

    def __post_init__(self) -> None:
        if self.indices not in INDEX_CODINGS:
            raise ValueError(f"indices {self.indices!r} is not {' or '.join(INDEX_CODINGS)}")
        if self.values not in VALUE_CODINGS:
            raise ValueError(f"values {self.values!r} is not {' or '.join(VALUE_CODINGS)}")

    def encode(self, chosen: Indices, values: Vector, layout: Layout) -> Frames:
        """Return the frames of `values[i]` at the ascending `chosen[i]`.

        `values` are finite and never zero. The frames may refer to both arrays, which the caller
        must not change any more.
        """
        frames, kept = VALUE_CODINGS[self.values].encode(values, chosen, layout)
        if kept is not None:
            chosen = chosen[kept]
        coded = INDEX_CODINGS[self.indices].encode(chosen, layout), *frames
        # f32 is exact; the other codings round, and only decoding yields the rounded values
        if self.values != "f32":
            return coded
        return DecodedFrames.pair(coded, Gradient(values, chosen))

    def decode(self, frames: Frames, layout: Layout, limits: int | Sequence[int]) -> Gradient:
        """Return the gradient in `frames`. Raises WireError if `encode` cannot have written them.

        `limits` bounds the number of entries: one number in all, or one for each variable.
        """
        coding = VALUE_CODINGS[self.values]
        coded, *value_frames = frame_checks.check_count(frames, 1 + coding.FRAMES)
        entries = coding.entries(value_frames)
        total_limit = limits if isinstance(limits, int) else sum(limits)
        if entries > total_limit:
            raise WireError(f"{entries} values, expected at most {total_limit}")
        chosen = INDEX_CODINGS[self.indices].decode(coded, entries, layout)
        if not isinstance(limits, int):
            _bounded(chosen, layout, limits)
        return Gradient(coding.decode(value_frames, chosen, layout), chosen)

    def count(self, frames: Frames) -> ByteCount:
        """Return bytes by content: signs count as values; scales and index headers as headers."""
        coded, codes, *scales = frames
        header_bytes = INDEX_CODINGS[self.indices].header(coded)
        return ByteCount(
            values=len(codes),
            indices=len(coded) - header_bytes,
            headers=header_bytes + sum(map(len, scales)),
        )


def _bounded(chosen: Indices, layout: Layout, limits: Sequence[int]) -> None:
    """Raise WireError if a variable has more entries than `limits` allows."""
    # of the same type as `chosen`, which would be converted otherwise
    ends = chosen.searchsorted(np.array([stop for _, stop in layout.bounds], np.uint32)).tolist()
    for number, (start, stop) in enumerate(pairwise((0, *ends))):
        if stop - start > limits[number]:
            excess = f"{stop - start} entries of {layout.variables[number].name}"
            raise WireError(f"{excess}, expected at most {limits[number]}")
