"""How a chosen set of entries travels: which parameters, and what they are worth.

The frames are the indices, the values, and the values' scales if their coding has any. An entry
whose value is zero, or would be read as zero, is never sent: to be sent is to be touched (Hardy
et al., 2017).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Gradient, Indices, Vector
from . import frame_checks
from .base import ByteCount
from .decoded_frames import DecodedFrames
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

    def encode(self, chosen: Indices, worth: Vector, layout: Layout) -> Frames:
        """The frames of `worth[i]` at `chosen[i]`: ascending, finite, none of them zero.

        They may hold on to both arrays, which nobody may change any more.
        """
        frames, kept = VALUE_CODINGS[self.values].encode(worth, chosen, layout)
        if kept is not None:
            chosen = chosen[kept]
        coded = INDEX_CODINGS[self.indices].encode(chosen, layout), *frames
        # others lose something, which only decoding shows
        return DecodedFrames.pair(coded, Gradient(worth, chosen)) if self.values == "f32" else coded

    def decode(self, frames: Frames, layout: Layout, most: int | Sequence[int]) -> Gradient:
        """What the frames say; a WireError if `encode` cannot have written them.

        `most` bounds the entries: in all, or those of each variable.
        """
        coding = VALUE_CODINGS[self.values]
        coded, *worth = frame_checks.check_count(frames, 1 + coding.FRAMES)
        entries = coding.entries(worth)
        limit = most if isinstance(most, int) else sum(most)
        if entries > limit:
            raise WireError(f"{entries} values, expected at most {limit}")
        chosen = INDEX_CODINGS[self.indices].decode(coded, entries, layout)
        if not isinstance(most, int):
            _bounded(chosen, layout, most)
        return Gradient(coding.decode(worth, chosen, layout), chosen)

    def count(self, frames: Frames) -> ByteCount:
        """Signs are values; scales, and what a coding of indices needs to be read, are headers."""
        coded, codes, *scales = frames
        head = INDEX_CODINGS[self.indices].header(coded)
        return ByteCount(
            values=len(codes), indices=len(coded) - head, headers=head + sum(map(len, scales))
        )


def _bounded(chosen: Indices, layout: Layout, most: Sequence[int]) -> None:
    ends = chosen.searchsorted(np.array([stop for _, stop in layout.bounds]))
    entries = np.diff(ends, prepend=0)
    for over in np.flatnonzero(entries > most)[:1]:
        found = f"{entries[over]} entries of {layout.variables[over].name}"
        raise WireError(f"{found}, expected at most {most[over]}")
