"""Selection of the entries of largest magnitude, and the number of entries in a share.

The selection takes about two passes over the gradient. A small sample suggests a threshold slightly
too low, which leaves few candidates; the exact choice is made among the candidates. Where the
sample misleads, a lower threshold follows: that costs time, never correctness.
"""

import fractions
from collections.abc import Iterable, Iterator
from math import sqrt
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..layout import Layout
from ..units import Checked, Fraction
from ..vectors import Indices, Vector
from . import packing

_MAGNITUDE = np.uint32(0x7FFFFFFF)
"""Mask that clears the sign bit. The remaining bits order as the magnitudes do, NaN above all."""
_BLOCK = 1 << 17
"""Entries compared at once, so that scratch memory stays in a core's cache."""
_SAMPLE = 1 << 12
"""Least number of sampled entries."""
_SPARSEST = 1 << 10
"""Largest stride of the sample."""
_NON_ZERO = np.uint32(1)
"""Bits of the smallest positive float32: the threshold that every non-zero entry reaches."""


def largest(values: Vector, count: int) -> Indices:
    """Return ascending positions of the `count` entries of largest magnitude; zeros never count.

    Fewer positions are returned if fewer entries are not zero. Ties go to the lower position.
    Infinities and NaN rank highest: if there are any, at least one is chosen. The cost is two
    passes over `values` plus a partition of the candidates, O(size).
    """
    if count == 1:
        return _first(values)
    # with so few entries the sample would be all of them
    if values.size < 2 * _SAMPLE:
        return _among(np.flatnonzero(values).astype(np.uint32), values, count)
    candidates = np.empty(0, np.uint32)
    for threshold in _guesses(values.view(np.uint32), count):
        candidates = _candidates(values, threshold)
        # enough at this threshold: the `count` largest are all among them, so the choice is exact
        if candidates.size >= count:
            break
    return _among(candidates, values, count)


def _guesses(bits: NDArray[np.uint32], count: int) -> Iterator[np.uint32]:
    """Yield thresholds, ever lower, that a few more than `count` entries should exceed.

    The last threshold is the smallest there is, so that a caller always finishes.
    """
    # an odd stride meets every column, since the rows of most variables have an even length
    sample = bits[:: min(bits.size // _SAMPLE, _SPARSEST) | 1] & _MAGNITUDE
    sample.sort()  # a partition is slightly faster, but twenty times slower on many equal values
    expected = count * sample.size / bits.size
    # The number of sampled entries above the wanted threshold is about Poisson(expected): stay
    # 3, then 10 standard deviations on the safe side.
    for deviations in (3, 10):
        rank = sample.size - 1 - int(expected + deviations * (sqrt(expected) + 1))
        if rank > 0 and sample[rank]:
            yield sample[rank]
    yield _NON_ZERO


def _first(values: Vector) -> Indices:
    """Return the position of the largest magnitude, the common case for small variables."""
    position = int(np.abs(values).argmax())
    return np.array([position] if values[position] else [], np.uint32)


def reaching(bits: NDArray[np.uint32], threshold: np.uint32) -> Indices:
    """Return ascending positions of the floats in `bits` with a magnitude of at least
    `threshold`."""
    return _candidates(bits.view(np.float32), threshold)


def _candidates(values: Vector, threshold: np.uint32) -> Indices:
    """Return the ascending positions of values outside the open interval (-threshold,
    threshold)."""
    high = threshold.view(np.float32)
    low = -high
    packed = np.empty(-(-values.size // 8), np.uint8)
    inside, scratch = (np.empty(min(values.size, _BLOCK), np.bool_) for _ in range(2))
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        within = np.less(block, high, out=inside[: block.size])
        within &= np.greater(block, low, out=scratch[: block.size])
        packed[start // 8 : (start + _BLOCK) // 8] = packing.packed(within)
    # inverted last: a NaN compares false with both bounds and so counts as outside
    np.invert(packed, out=packed)
    if values.size % 8:  # clear the padding bits that the inversion has set
        packed[-1] &= (1 << values.size % 8) - 1
    return packing.positions(packed)


def _among(candidates: Indices, values: Vector, count: int) -> Indices:
    """Return the `count` of largest magnitude among ascending `candidates`; ties go to the
    lower."""
    if candidates.size <= count:
        return candidates
    # compared as integers, which order as the magnitudes do and give NaN a place, the highest
    magnitudes = values.take(candidates).view(np.uint32)
    magnitudes &= _MAGNITUDE
    # the count-th largest magnitude; entries equal to it may exceed the count
    rank = magnitudes.size - count
    threshold = np.partition(magnitudes, rank)[rank]
    chosen = magnitudes >= threshold
    surplus = np.count_nonzero(chosen) - count
    if surplus:
        equal = np.flatnonzero(magnitudes == threshold)
        # candidates ascend, so the last of the equal ones have the highest positions
        chosen[equal[-surplus:]] = False
    return candidates.take(np.flatnonzero(chosen))


# -- numbers of entries --------------------------------------------------------------------------


def check_keep(keep: float) -> None:
    """Raise ValueError unless `keep` is above 0 and at most 1."""
    if not 0 < keep <= 1:
        raise ValueError(f"keep is {keep}: write a share above 0% and up to 100%")


Keep: TypeAlias = Annotated[Fraction, Checked(check_keep)]
"""Share of the entries that a codec keeps."""


def entries_per_variable(keep: float, layout: Layout) -> list[int]:
    """Return max(1, floor(keep · size)) for each variable of `layout`."""
    return entries_for(keep, (stop - start for start, stop in layout.bounds))


def entries_for(keep: float, sizes: Iterable[int]) -> list[int]:
    """Return max(1, floor(keep · size)) for each of `sizes` (rounding as in Hardy et al., 2017)."""
    # exact arithmetic on the decimal as written: in binary 0.29 · 100 is below 29
    share = fractions.Fraction(repr(float(keep)))
    return [max(1, size * share.numerator // share.denominator) for size in sizes]
