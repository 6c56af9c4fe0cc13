"""Deep gradient compression: momentum where the memory is, not at the server (Lin et al., 2018)."""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import ClassVar, Literal

import numpy as np

from ..layout import Layout
from ..units import Fraction
from ..vectors import Frames, Gradient, Vector
from . import entry_counts, frame_checks
from .base import ByteCount, Encoder, EncoderContext
from .decoded_frames import decode_once
from .feedback import BUILT_IN
from .indices import IndexCoding
from .selection import largest
from .sparse import Sparse
from .values import ValueCoding

_FIRST = 4
"""In the first epoch of the warm-up a quarter is sent, in the second a quarter of that."""


@dataclass(frozen=True)
class DGC:
    """Algorithm 4 of the paper: u = m · u + g, v = v + u, and of v the largest are sent.

    The server needs plain SGD: the momentum is in u. Sent entries are zeroed in both (momentum
    factor masking). The choice is exact in each variable, where the paper samples to be quick.
    """

    keep: Fraction = Fraction(0.001)
    """The share of each variable that is sent after the warm-up."""
    momentum: float = 0.9
    clip: float | None = None
    """The largest norm of the mean gradient; each worker's own is clipped to this / √workers."""
    warm_up: int = 4
    """Epochs: in the first 25% are sent, then 6.25%, 1.5625%, 0.39%; never less than `keep`."""
    indices: IndexCoding = "gap"
    values: ValueCoding = "f32"
    kind: Literal["dgc"] = "dgc"
    no_feedback: ClassVar[str] = BUILT_IN

    def __post_init__(self) -> None:
        entry_counts.check_keep(self.keep)
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum is {self.momentum:g}: it is at least 0, below 1")
        if self.clip is not None and not 0 < self.clip < float("inf"):
            raise ValueError(f"clip is {self.clip:g}: write a norm above zero, or nothing")
        if self.warm_up < 0:
            raise ValueError(f"warm_up is {self.warm_up}: write a number of epochs from 0 up")
        _ = self.sparse

    def start(self, context: EncoderContext) -> Encoder:
        return DGCEncoder(self, context)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return self.sparse.decode(frames, layout, entry_counts.per_variable(self.share(0), layout))

    def count(self, frames: Frames) -> ByteCount:
        return self.sparse.count(frames)

    def share(self, epoch: int) -> float:
        """What is sent in an epoch, counted from zero."""
        warm = float(_FIRST) ** -(epoch + 1) if epoch < self.warm_up else 0.0
        return max(warm, float(self.keep))

    @cached_property
    def sparse(self) -> Sparse:
        return Sparse(self.indices, self.values)


class DGCEncoder:
    """One worker's u and v; the warm-up counts its own updates, from when its process began."""

    def __init__(self, codec: DGC, context: EncoderContext) -> None:
        self._codec, self._context = codec, context
        self._updates = 0
        size = context.layout.size
        self.velocity: Vector = np.zeros(size, np.float32)
        self.residual: Vector = np.zeros(size, np.float32)
        # where the next ones are made: a gradient may yet be refused
        self._velocity: Vector = np.empty(size, np.float32)
        self._residual: Vector = np.empty(size, np.float32)

    def encode(self, gradient: Vector) -> Frames:
        layout, codec = self._context.layout, self._codec
        frame_checks.check_shape(gradient, layout)
        velocity, residual = self._velocity, self._residual
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            np.multiply(self.velocity, np.float32(codec.momentum), out=velocity)
            velocity += self._clipped(gradient)
            np.add(self.residual, velocity, out=residual)
        most = entry_counts.per_variable(codec.share(self._updates // self._context.epoch), layout)
        chosen = np.concatenate(
            [
                largest(residual[start:stop], entries) + start
                for (start, stop), entries in zip(layout.bounds, most, strict=True)
            ]
        )
        values = residual.take(chosen)
        # the chosen entries are the largest, and anything not finite counts as largest of all
        if not np.isfinite(values).all():
            raise frame_checks.not_finite_error(residual, layout)
        frames = codec.sparse.encode(chosen, values, layout)
        self._forget(decode_once(frames, codec, layout))
        return frames

    def _clipped(self, gradient: Vector) -> Vector:
        if self._codec.clip is None:
            return gradient
        norm = float(np.linalg.norm(gradient.astype(np.float64)))
        most = self._codec.clip / sqrt(self._context.workers)
        return gradient * np.float32(most / norm) if norm > most else gradient

    def _forget(self, sent: Gradient) -> None:
        """What has been sent is owed no longer, but for what its coding left of it."""
        where = slice(None) if sent.indices is None else sent.indices.astype(np.intp)
        self._velocity[where] = 0
        self._residual[where] = self._residual[where] - sent.values
        self.velocity, self._velocity = self._velocity, self.velocity
        self.residual, self._residual = self._residual, self.residual
        self._updates += 1
