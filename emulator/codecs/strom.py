"""Where enough has come together, one step of a fixed size (Strom, 2015)."""

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
from .threshold import check_threshold


@dataclass(frozen=True)
class Strom:
    """+τ or -τ wherever the residual exceeds τ in magnitude, and the residual less that.

    An entry moves by τ in one update, however much has come together: section 3, with the indices
    in the scenario's coding instead of 31 bits beside the sign.
    """

    threshold: float
    """The paper's τ, in the gradient's unit: what is too small never comes together in time."""
    indices: IndexCoding = "gap"
    kind: Literal["strom"] = "strom"
    no_feedback: ClassVar[str] = BUILT_IN

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        _ = self._sparse

    def start(self, context: EncoderContext) -> Encoder:
        return ErrorFeedback(StatelessEncoder(self, context.layout), self, context.layout)

    def encode(self, gradient: Vector, layout: Layout) -> Frames:
        """Of the residual with the gradient in it."""
        frame_checks.check_shape(gradient, layout)
        # as bits, the next number is the next magnitude, and what is not finite exceeds them all
        above = self._tau.view(np.uint32) + np.uint32(1)
        chosen = reaching(gradient.view(np.uint32), above)
        values = gradient.take(chosen)
        if not np.isfinite(values).all():
            raise frame_checks.not_finite_error(gradient, layout)
        steps = np.copysign(self._tau, values)
        return self._sparse.encode(chosen, steps, layout)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        said = self._sparse.decode(frames, layout, layout.size)
        if (np.abs(said.values) != self._tau).any():
            raise WireError(f"a step other than {self.threshold:g}")
        return said

    def count(self, frames: Frames) -> ByteCount:
        return self._sparse.count(frames)

    @property
    def _tau(self) -> np.float32:
        return np.float32(self.threshold)

    @cached_property
    def _sparse(self) -> Sparse:
        return Sparse(self.indices, "ternary")
