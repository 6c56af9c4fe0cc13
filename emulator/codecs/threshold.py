"""Codec `threshold`: entries at or above a fixed magnitude (Dutta et al., 2020)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

import numpy as np

from ..layout import Layout
from ..units import Checked
from ..vectors import Frames, Gradient, Vector
from . import frame_checks
from .base import ByteCount, Encoder, EncoderContext
from .feedback import StatelessEncoder
from .indices import IndexCoding
from .selection import reaching
from .sparse import Sparse
from .values import ValueCoding

_FLOAT = np.finfo(np.float32)


def check_threshold(threshold: float) -> None:
    """Raise ValueError unless `threshold` is a normal, positive float32."""
    if not float(_FLOAT.tiny) <= threshold <= float(_FLOAT.max):
        raise ValueError(f"threshold is {threshold:g}: write a number above zero")


Magnitude: TypeAlias = Annotated[float, Checked(check_threshold)]
"""Magnitude from which on a codec sends an entry."""


@dataclass(frozen=True)
class Threshold:
    """Fixed threshold: every entry with at least this magnitude is sent, and no other entry.

    Dutta et al. (2020). The number of entries follows the gradient: many at first, few in the end.
    """

    threshold: Magnitude
    """Smallest magnitude that is sent, above zero, in the unit of the gradient."""
    indices: IndexCoding = "gap"
    """Coding of the sent entries' indices."""
    values: ValueCoding = "f32"
    """Coding of the sent entries' values."""
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
        # NaN and infinities reach every threshold, so checking the chosen entries suffices
        if not np.isfinite(values).all():
            raise frame_checks.not_finite_error(gradient, layout)
        return self._sparse.encode(chosen, values, layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return self._sparse.decode(frames, layout, layout.size)

    def count(self, frames: Frames) -> ByteCount:
        return self._sparse.count(frames)

    @cached_property
    def _sparse(self) -> Sparse:
        """Coding of the entries that are sent."""
        return Sparse(self.indices, self.values)
