"""A few levels for each entry, drawn so that nothing is lost on average (Alistarh et al., 2017)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..layout import Layout
from ..vectors import Frames, Gradient, Vector
from . import bins, frame_checks, radix_packing
from .base import ByteCount, Encoder, EncoderContext
from .feedback import RandomEncoder

_MOST = 127
"""Levels on either side of zero that fit into a byte with the sign."""
_LARGEST = np.finfo(np.float32).max


@dataclass(frozen=True)
class QSGD:
    """Each entry g of a bucket becomes sign(g) · l · norm / levels, l a whole number (section 3.1).

    l is levels · |g| / norm, rounded up with its fraction as the chance, or else down; the norm is
    the bucket's Euclidean one, and a bucket so many neighbours in the flat vector, whatever
    variables they belong to. Each l takes the same bits, not the paper's Elias codes.
    """

    levels: int = 1
    """The paper's s: 1 is its sparse regime, up to 127."""
    bucket: int = 512
    kind: Literal["qsgd"] = "qsgd"

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= _MOST:
            raise ValueError(f"levels is {self.levels}: write a number from 1 to {_MOST}")
        if self.bucket < 1:
            raise ValueError(f"bucket is {self.bucket}: write a number of entries from 1 up")

    def start(self, context: EncoderContext) -> Encoder:
        return RandomEncoder(self, context.layout, context.rng)

    def encode(self, gradient: Vector, layout: Layout, rng: np.random.Generator) -> Frames:
        frame_checks.check_shape(gradient, layout)
        norms = self._norms(gradient)
        if not np.isfinite(norms).all():
            raise frame_checks.not_finite_error(gradient, layout)
        # any norm serves that no magnitude exceeds, so the largest float32 may stand for infinity
        norms = norms.clip(None, _LARGEST).astype("<f4")
        scaled = np.abs(gradient)
        divisors = np.where(norms, norms, np.float32(1))
        for which, buckets in bins.rows(scaled, self.bucket):
            buckets /= divisors[which, None]
        scaled *= np.float32(self.levels)
        scaled += rng.random(layout.size, np.float32)
        # a sum may be rounded up to the next whole number
        levels = np.minimum(scaled, np.float32(self.levels)).astype(np.int8)
        levels *= np.int8(1) - ((gradient < 0).view(np.int8) << np.int8(1))
        levels += np.int8(self.levels)
        return norms.tobytes(), radix_packing.pack(levels.view(np.uint8), self._base)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        norm_frame, level_frame = frame_checks.check_count(frames, 2)
        norms = frame_checks.scales(norm_frame, bins.count(layout.size, self.bucket))
        codes = radix_packing.unpack(level_frame, layout.size, self._base)
        codes -= np.uint8(self.levels)
        # divided first: a norm may be the largest float32, or hardly above zero
        levels = codes.view(np.int8)
        values: Vector = np.divide(levels, np.float32(self.levels), dtype=np.float32)
        for which, buckets in bins.rows(values, self.bucket):
            if buckets[norms[which] == 0].any():
                raise WireError("a bucket has entries, and no norm")
            buckets *= norms[which, None]
        return Gradient(values)

    def count(self, frames: Frames) -> ByteCount:
        norms, levels = frames
        return ByteCount(values=len(levels), indices=0, headers=len(norms))

    @property
    def _base(self) -> int:
        return 2 * self.levels + 1

    def _norms(self, gradient: Vector) -> NDArray[np.float64]:
        # in double precision, where squares neither overflow nor vanish
        norms = np.empty(bins.count(gradient.size, self.bucket))
        for which, buckets in bins.rows(gradient.astype(np.float64), self.bucket):
            norms[which] = np.sqrt(np.einsum("ij,ij->i", buckets, buckets))
        return norms
