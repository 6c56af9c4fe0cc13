"""Every entry whose magnitude reaches a fixed threshold, and no other (Dutta et al., 2020)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import frame_checks
from .base import ByteCount, Encoder, EncoderContext
from .feedback import StatelessEncoder
from .indices import IndexCoding
from .selection import reaching
from .sparse import Sparse
from .values import ValueCoding

_FLOAT = np.finfo(np.float32)


@dataclass(frozen=True)
class Threshold:
    """How many entries that are depends on the gradient: many at first, few in the end."""

    threshold: float
    """The smallest magnitude that is sent, above zero."""
    indices: IndexCoding = "gap"
    values: ValueCoding = "f32"
    kind: Literal["threshold"] = "threshold"

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        _ = self._sparse

    def start(self, context: EncoderContext) -> Encoder:
        return StatelessEncoder(self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        frame_checks.check_shape(gradient, layout)
        chosen = reaching(gradient.view(np.uint32), np.float32(self.threshold).view(np.uint32))
        values = gradient.take(chosen)
        # what is not finite reaches every threshold
        if not np.isfinite(values).all():
            raise frame_checks.not_finite_error(gradient, layout)
        return self._sparse.encode(chosen, values, layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return self._sparse.decode(frames, layout, layout.size)

    def count(self, frames: Frames) -> ByteCount:
        return self._sparse.count(frames)

    @cached_property
    def _sparse(self) -> Sparse:
        return Sparse(self.indices, self.values)


def check_threshold(threshold: float) -> None:
    """A ValueError unless a float32 holds it, and it is above zero."""
    if not float(_FLOAT.tiny) <= threshold <= float(_FLOAT.max):
        raise ValueError(f"threshold is {threshold:g}: write a number above zero")
