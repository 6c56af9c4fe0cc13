"""Codec `qsgd`: random rounding of entries to a few levels (Alistarh et al., 2017)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..layout import Layout
from ..units import AtLeast, Checked
from ..vectors import Frames, Gradient, Vector
from . import frame_checks, packing
from .base import ByteCount, Draws, Encoder, EncoderContext
from .feedback import RandomEncoder

_MAX_LEVELS = 127
"""Most levels on either side of zero that fit, with the sign, into a byte."""
_LARGEST = np.finfo(np.float32).max
"""Largest finite float32."""

_BUCKET = AtLeast(1)


def _check_levels(levels: int) -> None:
    if not 1 <= levels <= _MAX_LEVELS:
        raise ValueError(f"levels is {levels}: write a number from 1 to {_MAX_LEVELS}")


@dataclass(frozen=True)
class QSGD:
    """QSGD: each entry g of a bucket becomes sign(g) · l · norm / levels, with a whole number l.

    Alistarh et al. (2017), section 3.1. l is levels · |g| / norm, rounded up with the fraction as
    the probability, else down, so that the expected value is g. `norm` is the Euclidean norm of the
    bucket. A bucket holds neighbours in the flat vector, across variables. Each l takes the same
    number of bits; the paper's Elias codes are not used.
    """

    levels: Annotated[int, Checked(_check_levels)] = 1
    """Levels on either side of zero, 1 to 127: the paper's s. 1 is its sparse regime."""
    bucket: Annotated[int, _BUCKET] = 512
    """Entries in a bucket, which share a norm."""
    kind: Literal["qsgd"] = "qsgd"

    def __post_init__(self) -> None:
        _check_levels(self.levels)
        _BUCKET.check(self.bucket, "bucket")

    def start(self, context: EncoderContext) -> Encoder:
        return RandomEncoder(self, context.layout, context.rng)

    def encode(self, gradient: Vector, layout: Layout, rng: Draws) -> Frames:
        frame_checks.check_shape(gradient, layout)
        norms = self._norms(gradient)
        if not np.isfinite(norms).all():
            raise frame_checks.not_finite_error(gradient, layout)
        # rounding stays unbiased for any norm that bounds all magnitudes, so a float64 norm beyond
        # float32 may be clipped to the largest float32
        norms = norms.clip(None, _LARGEST).astype("<f4")
        scaled = np.abs(gradient)
        divisors = np.where(norms, norms, np.float32(1))
        for numbers, buckets in _buckets(scaled, self.bucket):  # views: divided in place
            buckets /= divisors[numbers, None]
        # floor(x + uniform) rounds x up with the fraction of x as the probability
        scaled *= np.float32(self.levels)
        scaled += rng.random(layout.size, np.float32)
        # float32 may round the sum up to levels + 1
        levels = np.minimum(scaled, np.float32(self.levels)).astype(np.int8)
        levels *= np.int8(1) - ((gradient < 0).view(np.int8) << np.int8(1))  # times 1 or -1
        levels += np.int8(self.levels)  # from -levels … levels to digits from 0
        return norms.tobytes(), packing.pack_digits(levels.view(np.uint8), self._base)

    def decode(self, frames: Frames, layout: Layout) -> Gradient:
        norm_frame, level_frame = frame_checks.check_count(frames, 2)
        norms = frame_checks.scales(norm_frame, _count(layout.size, self.bucket))
        codes = packing.unpack_digits(level_frame, layout.size, self._base)
        codes -= np.uint8(self.levels)
        # divide by the levels before multiplying: the norm may be the largest float32 or subnormal
        levels = codes.view(np.int8)
        values: Vector = np.divide(levels, np.float32(self.levels), dtype=np.float32)
        for numbers, buckets in _buckets(values, self.bucket):
            if buckets[norms[numbers] == 0].any():
                raise WireError("a bucket has entries, but its norm is zero")
            buckets *= norms[numbers, None]
        return Gradient(values)

    def count(self, frames: Frames) -> ByteCount:
        norms, levels = frames
        return ByteCount(values=len(levels), indices=0, headers=len(norms))

    @property
    def _base(self) -> int:
        """Number of codes of an entry: the levels of both signs, and zero."""
        return 2 * self.levels + 1

    def _norms(self, gradient: Vector) -> NDArray[np.float64]:
        """Return the Euclidean norm of each bucket of `gradient`."""
        # in double precision squares of float32 neither overflow nor vanish
        norms = np.empty(_count(gradient.size, self.bucket))
        for numbers, buckets in _buckets(gradient.astype(np.float64), self.bucket):
            norms[numbers] = np.sqrt(np.einsum("ij,ij->i", buckets, buckets))
        return norms


def _buckets(vector: NDArray[Any], length: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield pairs of a slice of bucket numbers and a view [buckets, entries] of their entries.

    The whole buckets come first, as one view; then the short bucket, if any.
    """
    whole, remainder = divmod(vector.size, length)
    if whole:
        yield slice(0, whole), vector[: whole * length].reshape(whole, length)
    if remainder:
        yield slice(whole, whole + 1), vector[whole * length :].reshape(1, remainder)


def _count(size: int, length: int) -> int:
    """Return the number of buckets of `length` in a vector of `size` entries."""
    return -(-size // length)
