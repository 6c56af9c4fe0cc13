"""Codec `strom`: steps of a fixed size where the residual is large (Strom, 2015)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import frame_checks
from .base import ByteCount, Encoder, EncoderContext
from .feedback import BUILT_IN, ErrorFeedback, StatelessEncoder
from .indices import IndexCoding
from .selection import reaching
from .sparse import Sparse
from .threshold import Magnitude, check_threshold


@dataclass(frozen=True)
class Strom:
    """Fixed steps: +τ or -τ wherever the residual exceeds τ in magnitude.

    Strom (2015), section 3; the indices use the scenario's coding, not 31 bits beside the sign. The
    residual shrinks by the step. An entry moves by τ in one update, however large its residual is.
    """

    threshold: Magnitude
    """Step size τ in the unit of the gradient. Entries far below τ never add up to a step in
    time."""
    indices: IndexCoding = "gap"
    """Coding of the sent entries' indices."""
    kind: Literal["strom"] = "strom"
    no_feedback: ClassVar[str] = BUILT_IN

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        _ = self._sparse

    def start(self, context: EncoderContext) -> Encoder:
        return ErrorFeedback(StatelessEncoder(self, context.layout), self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        """Return the frames of `gradient`, to which the residual is already added."""
        frame_checks.check_shape(gradient, layout)
        # The bits of non-negative floats order as the floats do: τ + 1 ulp means "exceeds τ".
        # NaN and infinities exceed every finite threshold, so the check below sees them.
        above = self._tau.view(np.uint32) + np.uint32(1)
        chosen = reaching(gradient.view(np.uint32), above)
        values = gradient.take(chosen)
        if not np.isfinite(values).all():
            raise frame_checks.not_finite_error(gradient, layout)
        steps = np.copysign(self._tau, values)
        return self._sparse.encode(chosen, steps, layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        gradient = self._sparse.decode(frames, layout, layout.size)
        if (np.abs(gradient.values) != self._tau).any():
            raise WireError(f"a step other than {self.threshold:g}")
        return gradient

    def count(self, frames: Frames) -> ByteCount:
        return self._sparse.count(frames)

    @property
    def _tau(self) -> np.float32:
        """τ as a float32."""
        return np.float32(self.threshold)

    @cached_property
    def _sparse(self) -> Sparse:
        """Coding of the entries that are sent."""
        return Sparse(self.indices, "ternary")
