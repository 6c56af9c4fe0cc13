"""Only the entries of largest magnitude (Shokri & Shmatikov, 2015; Hardy et al., 2017)."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeAlias

import numpy as np

from ..layout import Layout
from ..units import Fraction
from ..vectors import Frames, Gradient, Indices, Vector
from . import entry_counts, frame_checks
from .base import ByteCount, Encoder, EncoderContext
from .feedback import StatelessEncoder
from .indices import IndexCoding
from .selection import largest
from .sparse import Sparse
from .values import ValueCoding

Scope: TypeAlias = Literal["variable", "global"]
SCOPES: tuple[Scope, ...] = ("variable", "global")


@dataclass(frozen=True)
class TopK:
    """Keep max(1, floor(keep · size)) entries; exact zeros are never sent.

    The largest of each variable, so that all of them learn, or those of the whole gradient. What
    is not sent is lost, unless `ErrorFeedback` carries it over.
    """

    keep: Fraction
    indices: IndexCoding = "gap"
    values: ValueCoding = "f32"
    scope: Scope = "variable"
    kind: Literal["topk"] = "topk"

    def __post_init__(self) -> None:
        entry_counts.check_keep(self.keep)
        if self.scope not in SCOPES:
            raise ValueError(f"scope {self.scope!r} is not {' or '.join(SCOPES)}")
        _ = self._sparse

    def start(self, context: EncoderContext) -> Encoder:
        return StatelessEncoder(self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        frame_checks.check_shape(gradient, layout)
        chosen = self._chosen(gradient, layout)
        values = gradient.take(chosen)
        # the chosen entries are the largest, and anything not finite counts as largest of all
        if not np.isfinite(values).all():
            raise frame_checks.not_finite_error(gradient, layout)
        return self._sparse.encode(chosen, values, layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        most = self.most(layout)
        return self._sparse.decode(frames, layout, most[0] if self.scope == "global" else most)

    def count(self, frames: Frames) -> ByteCount:
        return self._sparse.count(frames)

    def most(self, layout: Layout) -> list[int]:
        """How many entries an update holds at most: of each variable, or in all."""
        bounds = ((0, layout.size),) if self.scope == "global" else layout.bounds
        return _most(self.keep, bounds)

    def _chosen(self, gradient: Vector, layout: Layout) -> Indices:
        if self.scope == "global":
            return largest(gradient, *self.most(layout))
        parts = []
        for (start, stop), most in zip(layout.bounds, self.most(layout), strict=True):
            part = largest(gradient[start:stop], most)
            part += start
            parts.append(part)
        return np.concatenate(parts)

    @cached_property
    def _sparse(self) -> Sparse:
        return Sparse(self.indices, self.values)


@lru_cache(maxsize=64)
def _most(keep: float, bounds: tuple[tuple[int, int], ...]) -> list[int]:
    return entry_counts.for_sizes(keep, (stop - start for start, stop in bounds))
