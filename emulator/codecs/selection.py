"""The entries of largest magnitude, found in about two passes over the gradient.

A threshold from a small sample, a little too low, leaves few candidates; the exact choice is
made among them. Where the sample misleads, all entries are candidates: only time is lost.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from . import bits as packing
from .base import Vector

_MAGNITUDE = np.uint32(0x7FFFFFFF)
"""All but the sign. Without it, the bits of floats order as the floats do, NaN above all."""
_BLOCK = 1 << 17
"""Entries looked at together: their scratch memory stays in a core's cache."""
_SAMPLE = 1 << 12
_NON_ZERO = np.uint32(1)


def largest(values: Vector, most: int) -> NDArray[np.intp]:
    """Ascending positions of the `most` entries of largest magnitude, or of all but the zeros.

    Ties go to the lower position. Infinities and NaN count as the largest of all, so if there
    are any, at least one is chosen.
    """
    if most == 1:
        return _first(values)
    bits = values.view(np.uint32)
    threshold = _guess(bits, most)
    candidates = _candidates(values, threshold)
    if candidates.size < most and threshold > _NON_ZERO:
        candidates = _candidates(values, _NON_ZERO)
    if candidates.size > most:
        candidates = _chosen(candidates, bits[candidates] & _MAGNITUDE, most)
    return np.sort(candidates)


def _guess(bits: NDArray[np.uint32], most: int) -> np.uint32:
    """A magnitude that a few more than `most` entries reach, as far as a sample can tell."""
    if bits.size < 2 * _SAMPLE:
        return _NON_ZERO
    # an odd stride: the rows of most variables have an even length
    sample = bits[:: bits.size // _SAMPLE | 1] & _MAGNITUDE
    expected = most * sample.size / bits.size
    # zeros are many and all alike, which NumPy's partition takes twenty times as long over
    sample = sample[sample >= _NON_ZERO]
    rank = sample.size - 1 - int(expected + 4 * sqrt(expected) + 4)
    return np.uint32(np.partition(sample, rank)[rank]) if rank > 0 else _NON_ZERO


def _first(values: Vector) -> NDArray[np.intp]:
    """The one of largest magnitude; of many small variables that is all there is to find."""
    position = int(np.abs(values).argmax())
    return np.array([position] if values[position] else [], np.intp)


def reaching(bits: NDArray[np.uint32], threshold: np.uint32) -> NDArray[np.intp]:
    """Ascending positions of the floats, given as bits, whose magnitude is at least that."""
    return np.sort(_candidates(bits.view(np.float32), threshold))


def positions(flags: NDArray[np.bool_]) -> NDArray[np.intp]:
    """As `flatnonzero`, in half the time where few are set."""
    return packing.positions(packing.packed(flags))


def _candidates(values: Vector, threshold: np.uint32) -> NDArray[np.intp]:
    """Positions, in any order, of all that lies not between -threshold and threshold."""
    high = threshold.view(np.float32)
    low = -high
    packed = np.empty(-(-values.size // 8), np.uint8)
    inside, scratch = (np.empty(min(values.size, _BLOCK), np.bool_) for _ in range(2))
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        within = np.less(block, high, out=inside[: block.size])
        within &= np.greater(block, low, out=scratch[: block.size])
        # a NaN is neither
        bytes_ = packing.packed(np.logical_not(within, out=within))
        packed[start // 8 : start // 8 + bytes_.size] = bytes_
    return packing.unordered(packed)


def _chosen(
    candidates: NDArray[np.intp], magnitudes: NDArray[np.uint32], most: int
) -> NDArray[np.intp]:
    """The candidates of the `most` largest magnitudes, the earlier among equals."""
    rank = magnitudes.size - most
    threshold = np.partition(magnitudes, rank)[rank]
    chosen = magnitudes >= threshold
    surplus = np.count_nonzero(chosen) - most
    if surplus:
        equal = np.flatnonzero(magnitudes == threshold)
        latest = np.argpartition(candidates[equal], equal.size - surplus)[-surplus:]
        chosen[equal[latest]] = False
    return candidates[chosen]
