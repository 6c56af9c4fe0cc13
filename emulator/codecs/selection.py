"""The entries of largest magnitude, found in about two passes over the gradient.

A threshold from a small sample, a little too low, leaves few candidates; the exact choice is
made among them. Where the sample misleads, a lower threshold is tried: only time is lost.
"""

from collections.abc import Iterator
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from ..vectors import Indices, Vector
from . import bits as packing

_MAGNITUDE = np.uint32(0x7FFFFFFF)
"""All but the sign. Without it, the bits of floats order as the floats do, NaN above all."""
_BLOCK = 1 << 17
"""Entries looked at together: their scratch memory stays in a core's cache."""
_SAMPLE = 1 << 12
"""Entries at least that the threshold is guessed from."""
_SPARSEST = 1 << 10
"""One in so many at least is in the sample, too."""
_NON_ZERO = np.uint32(1)


def largest(values: Vector, most: int) -> Indices:
    """Ascending positions of the `most` entries of largest magnitude, or of all but the zeros.

    Ties go to the lower position. Infinities and NaN count as the largest of all, so if there
    are any, at least one is chosen.
    """
    if most == 1:
        return _first(values)
    if values.size < 2 * _SAMPLE:
        return _among(np.flatnonzero(values).astype(np.uint32), values, most)
    candidates = np.empty(0, np.uint32)
    for threshold in _guesses(values.view(np.uint32), most):
        candidates = _candidates(values, threshold)
        if candidates.size >= most:
            break
    return _among(candidates, values, most)


def _guesses(bits: NDArray[np.uint32], most: int) -> Iterator[np.uint32]:
    """Magnitudes, each lower, that a few more than `most` entries reach, as far as a sample tells;
    the last is the smallest there is."""
    # an odd stride: the rows of most variables have an even length
    sample = bits[:: min(bits.size // _SAMPLE, _SPARSEST) | 1] & _MAGNITUDE
    sample.sort()  # what a partition saves, it loses twentyfold where many are alike, as zeros are
    expected = most * sample.size / bits.size
    for deviations in (3, 10):
        rank = sample.size - 1 - int(expected + deviations * (sqrt(expected) + 1))
        if rank > 0 and sample[rank]:
            yield sample[rank]
    yield _NON_ZERO


def _first(values: Vector) -> Indices:
    """The one of largest magnitude; of many small variables that is all there is to find."""
    position = int(np.abs(values).argmax())
    return np.array([position] if values[position] else [], np.uint32)


def reaching(bits: NDArray[np.uint32], threshold: np.uint32) -> Indices:
    """Ascending positions of the floats, given as bits, whose magnitude is at least that."""
    return _candidates(bits.view(np.float32), threshold)


def _candidates(values: Vector, threshold: np.uint32) -> Indices:
    """Ascending positions of all that lies not between -threshold and threshold."""
    high = threshold.view(np.float32)
    low = -high
    packed = np.empty(-(-values.size // 8), np.uint8)
    inside, scratch = (np.empty(min(values.size, _BLOCK), np.bool_) for _ in range(2))
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        within = np.less(block, high, out=inside[: block.size])
        within &= np.greater(block, low, out=scratch[: block.size])
        packed[start // 8 : (start + _BLOCK) // 8] = packing.packed(within)
    np.invert(packed, out=packed)  # so that a NaN, which is neither, is outside
    if values.size % 8:
        packed[-1] &= (1 << values.size % 8) - 1
    return packing.positions(packed)


def _among(candidates: Indices, values: Vector, most: int) -> Indices:
    """Of ascending candidates the `most` largest magnitudes', the lower position among equals."""
    if candidates.size <= most:
        return candidates
    magnitudes = values.take(candidates).view(np.uint32)
    magnitudes &= _MAGNITUDE
    rank = magnitudes.size - most
    threshold = np.partition(magnitudes, rank)[rank]
    chosen = magnitudes >= threshold
    surplus = np.count_nonzero(chosen) - most
    if surplus:
        equal = np.flatnonzero(magnitudes == threshold)
        chosen[equal[-surplus:]] = False
    return candidates.take(np.flatnonzero(chosen))
