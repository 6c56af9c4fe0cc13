"""Codec `dgc`: deep gradient compression (Lin et al., 2018), with momentum on the devices."""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Annotated, ClassVar, Literal

import numpy as np

from ..layout import Layout
from ..units import AtLeast, Checked, Fraction
from ..vectors import Frames, Gradient, Vector
from . import frame_checks
from .base import ByteCount, Encoder, EncoderContext, Memory, decode_once
from .feedback import BUILT_IN
from .indices import IndexCoding
from .selection import Keep, check_keep, entries_per_variable, largest
from .sparse import Sparse
from .values import ValueCoding

_FIRST = 4
"""Ratio of one warm-up epoch's share to the next one's: 1/4 is sent in the first epoch, then
1/16."""

_WARM_UP = AtLeast(0)


def _check_momentum(momentum: float) -> None:
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum is {momentum:g}: write a number from 0 to below 1")


def _check_clip(clip: float) -> None:
    if not 0 < clip < float("inf"):
        raise ValueError(f"clip is {clip:g}: write a norm above zero, or nothing")


@dataclass(frozen=True)
class DGC:
    """Deep gradient compression: u = m · u + g, v = v + u; the largest entries of v are sent.

    Algorithm 4 of Lin et al. (2018). The server needs plain SGD, as the momentum is in u. Sent
    entries become zero in u and v (momentum factor masking). The choice is exact in each variable;
    the paper samples to save time.
    """

    keep: Keep = Fraction(0.001)
    """Share of each variable's entries that is sent after the warm-up."""
    momentum: Annotated[float, Checked(_check_momentum)] = 0.9
    """Momentum m, from 0 to below 1."""
    clip: Annotated[float, Checked(_check_clip)] | None = None
    """Largest norm of the mean gradient: each worker clips its own gradient to clip / √workers.
    Without `clip` nothing is clipped."""
    warm_up: Annotated[int, _WARM_UP] = 4
    """Epochs of warm-up: 25% is sent in the first, then 6.25%, 1.5625%, 0.39%; never less than
    `keep`."""
    indices: IndexCoding = "gap"
    """Coding of the sent entries' indices."""
    values: ValueCoding = "f32"
    """Coding of the sent entries' values."""
    kind: Literal["dgc"] = "dgc"
    no_feedback: ClassVar[str] = BUILT_IN
    presumes_sgd: ClassVar[str] = "its devices gather gradients with momentum already"
    """Reason for which the server's optimizer is to be plain SGD."""

    @property
    def no_segments(self) -> str:
        """Reason against segments: the first is sent before the norm of the gradient is known."""
        return "" if self.clip is None else "clip bounds the whole gradient: leave clip out"

    def __post_init__(self) -> None:
        check_keep(self.keep)
        _check_momentum(self.momentum)
        if self.clip is not None:
            _check_clip(self.clip)
        _WARM_UP.check(self.warm_up, "warm_up")
        _ = self.sparse

    def start(self, context: EncoderContext) -> Encoder:
        return DGCEncoder(self, context)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        return self.sparse.decode(frames, layout, entries_per_variable(self.share(0), layout))

    def count(self, frames: Frames) -> ByteCount:
        return self.sparse.count(frames)

    def share(self, epoch: int) -> float:
        """Return the share that is sent in `epoch`, counted from zero."""
        warm = float(_FIRST) ** -(epoch + 1) if epoch < self.warm_up else 0.0
        return max(warm, float(self.keep))

    @cached_property
    def sparse(self) -> Sparse:
        """Coding of the entries that are sent."""
        return Sparse(self.indices, self.values)


class DGCEncoder:
    """u and v of one worker. The warm-up counts the updates of this process, which a crash
    resets."""

    def __init__(self, codec: DGC, context: EncoderContext) -> None:
        self._codec, self._context = codec, context
        self._updates = 0
        size = context.layout.size
        self.velocity: Vector = np.zeros(size, np.float32)
        self.residual: Vector = np.zeros(size, np.float32)
        # the next u and v are made here: a refused gradient must not touch the present ones
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
        counts = entries_per_variable(codec.share(self._updates // self._context.epoch), layout)
        chosen = np.concatenate(
            [
                largest(residual[start:stop], entries) + start
                for (start, stop), entries in zip(layout.bounds, counts, strict=True)
            ]
        )
        values = residual.take(chosen)
        # `largest` ranks NaN and infinities highest, so a check of the chosen entries suffices
        if not np.isfinite(values).all():
            raise frame_checks.not_finite_error(residual, layout)
        frames = codec.sparse.encode(chosen, values, layout)
        self._forget(decode_once(frames, codec, layout))
        return frames

    def memory(self, part: slice) -> Memory:
        return Memory((self.velocity[part], self.residual[part]), self._updates)

    def recall(self, part: slice, memory: Memory) -> None:
        self.velocity[part], self.residual[part] = memory.vectors
        # the layers of a segment share a warm-up: the one that is furthest on
        self._updates = max(self._updates, memory.updates)

    def _clipped(self, gradient: Vector) -> Vector:
        """Return `gradient`, scaled down to the worker's largest norm if it exceeds that."""
        if self._codec.clip is None:
            return gradient
        norm = float(np.linalg.norm(gradient.astype(np.float64)))
        limit = self._codec.clip / sqrt(self._context.workers)
        return gradient * np.float32(limit / norm) if norm > limit else gradient

    def _forget(self, sent: Gradient) -> None:
        """Zero u and v at the entries of `sent`; v keeps the rounding error of the value coding."""
        positions = slice(None) if sent.indices is None else sent.indices.astype(np.intp)
        self._velocity[positions] = 0
        self._residual[positions] = self._residual[positions] - sent.values
        self.velocity, self._velocity = self._velocity, self.velocity
        self.residual, self._residual = self._residual, self.residual
        self._updates += 1
