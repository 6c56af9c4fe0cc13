"""Only the entries of largest magnitude of each variable (Shokri & Shmatikov, 2015)."""

import fractions
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..layout import Layout
from ..units import Fraction
from . import checks
from .base import Count, Encoder, Frames, Gradient, Place, Vector
from .feedback import Plain
from .indices import IndexCoding
from .selection import largest
from .sparse import Sparse
from .values import ValueCoding


@dataclass(frozen=True)
class TopK:
    """Keep max(1, floor(keep · size)) entries of each variable; exact zeros are never sent.

    Two frames: the indices in the flat vector, and their values. What is not sent is lost,
    unless `ErrorFeedback` carries it over.
    """

    keep: Fraction
    indices: IndexCoding = "gap"
    values: ValueCoding = "f32"
    kind: Literal["topk"] = "topk"

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise ValueError(f"keep is {self.keep}: write a share above 0% and up to 100%")
        _ = self._sparse

    def start(self, place: Place) -> Encoder:
        return Plain(self, place.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        checks.fit(gradient, layout)
        chosen = [
            largest(gradient[start:stop], most) + start
            for (start, stop), most in zip(layout.bounds, self.most(layout), strict=True)
        ]
        indices = np.concatenate(chosen)
        values = gradient[indices]
        # the chosen entries are the largest, and anything not finite counts as largest of all
        if not np.isfinite(values).all():
            raise checks.not_finite(gradient, layout)
        return self._sparse.encode(indices.astype(np.uint32), values, layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return self._sparse.decode(frames, layout, self.most(layout))

    def count(self, frames: Frames) -> Count:
        return self._sparse.count(frames)

    def most(self, layout: Layout) -> list[int]:
        """How many entries of each variable an update holds at most."""
        share = self._share
        return [
            max(1, (stop - start) * share.numerator // share.denominator)
            for start, stop in layout.bounds
        ]

    @cached_property
    def _share(self) -> fractions.Fraction:
        # as written, in decimal: in binary 0.07 · 100 rounds up past 7
        return fractions.Fraction(repr(float(self.keep)))

    @cached_property
    def _sparse(self) -> Sparse:
        return Sparse(self.indices, self.values)
