"""Codec `topk`: the entries of largest magnitude (Shokri & Shmatikov, 2015; Hardy et al., 2017)."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

import numpy as np

from ..layout import Layout
from ..vectors import Frames, Gradient, Indices, Vector
from . import frame_checks
from .base import ByteCount, Encoder, EncoderContext
from .feedback import StatelessEncoder
from .indices import IndexCoding
from .selection import Keep, check_keep, entries_for, largest
from .sparse import Sparse
from .values import ValueCoding

Scope: TypeAlias = Literal["variable", "global"]
SCOPES: tuple[Scope, ...] = ("variable", "global")


@dataclass(frozen=True)
class TopK:
    """Top-k: the max(1, floor(keep · size)) entries of largest magnitude; zeros are never sent.

    Shokri & Shmatikov (2015), Hardy et al. (2017). Entries that are not sent are lost, unless error
    feedback carries them over.
    """

    keep: Keep
    """Share of the entries that is sent."""
    indices: IndexCoding = "gap"
    """Coding of the sent entries' indices."""
    values: ValueCoding = "f32"
    """Coding of the sent entries' values."""
    scope: Scope = "variable"
    """Scope of the choice: the largest entries of each `variable`, so that all variables learn, or
    of the whole model (`global`)."""
    kind: Literal["topk"] = "topk"

    @property
    def no_segments(self) -> str:
        """Reason against segments: no entry can be chosen before all entries are known."""
        return "" if self.scope == "variable" else "it ranks the whole model: write scope: variable"

    def __post_init__(self) -> None:
        check_keep(self.keep)
        if self.scope not in SCOPES:
            raise ValueError(f"scope {self.scope!r} is not {' or '.join(SCOPES)}")
        _ = self._sparse

    def start(self, context: EncoderContext) -> Encoder:
        return StatelessEncoder(self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        frame_checks.check_shape(gradient, layout)
        chosen = self._chosen(gradient, layout)
        values = gradient.take(chosen)
        # `largest` ranks NaN and infinities highest, so a check of the chosen entries suffices
        if not np.isfinite(values).all():
            raise frame_checks.not_finite_error(gradient, layout)
        return self._sparse.encode(chosen, values, layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        limits = self.entry_limits(layout)
        return self._sparse.decode(frames, layout, limits[0] if self.scope == "global" else limits)

    def count(self, frames: Frames) -> ByteCount:
        return self._sparse.count(frames)

    def entry_limits(self, layout: Layout) -> list[int]:
        """Return the largest number of entries of an update: for each variable, or in all."""
        bounds = ((0, layout.size),) if self.scope == "global" else layout.bounds
        return _entry_limits(self.keep, bounds)

    def _chosen(self, gradient: Vector, layout: Layout) -> Indices:
        """Return the ascending indices of the entries to send."""
        if self.scope == "global":
            return largest(gradient, *self.entry_limits(layout))
        parts = []
        for (start, stop), limit in zip(layout.bounds, self.entry_limits(layout), strict=True):
            part = largest(gradient[start:stop], limit)
            part += start
            parts.append(part)
        return np.concatenate(parts)

    @cached_property
    def _sparse(self) -> Sparse:
        """Coding of the entries that are sent."""
        return Sparse(self.indices, self.values)


@lru_cache(maxsize=64)
def _entry_limits(keep: float, bounds: tuple[tuple[int, int], ...]) -> list[int]:
    """Return the numbers of entries; cached, since exact fractions take microseconds a variable."""
    return entries_for(keep, (stop - start for start, stop in bounds))
