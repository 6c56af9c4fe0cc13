"""The entries of largest magnitude, found in about two passes over the gradient.

A threshold from a small sample, a little too low, leaves few candidates; the exact choice is
made among them. Where the sample misleads, all entries are candidates: only time is lost.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

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
    candidates = reaching(bits, threshold)
    if candidates.size < most and threshold > _NON_ZERO:
        candidates = reaching(bits, _NON_ZERO)
    if candidates.size <= most:
        return candidates
    return candidates[_chosen(bits[candidates] & _MAGNITUDE, most)]


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
    reach = np.empty(bits.size, np.bool_)
    scratch = np.empty(min(bits.size, _BLOCK), np.uint32)
    for start in range(0, bits.size, _BLOCK):
        block = bits[start : start + _BLOCK]
        magnitude = np.bitwise_and(block, _MAGNITUDE, out=scratch[: block.size])
        np.greater_equal(magnitude, threshold, out=reach[start : start + _BLOCK])
    return positions(reach)


def positions(flags: NDArray[np.bool_]) -> NDArray[np.intp]:
    """As `flatnonzero`, in half the time where few are set: whole bytes of eight are left out."""
    packed = np.packbits(flags, bitorder="little")
    some = np.flatnonzero(packed != 0)
    within = np.flatnonzero(np.unpackbits(packed[some], bitorder="little").view(np.bool_))
    found: NDArray[np.intp] = (some[within >> 3] << 3) + (within & 7)
    return found


def _chosen(magnitudes: NDArray[np.uint32], most: int) -> NDArray[np.bool_]:
    """Which of more than `most` magnitudes are the largest, the earlier among equals."""
    rank = magnitudes.size - most
    threshold = np.partition(magnitudes, rank)[rank]
    chosen: NDArray[np.bool_] = magnitudes >= threshold
    surplus = np.count_nonzero(chosen) - most
    if surplus:
        chosen[np.flatnonzero(magnitudes == threshold)[-surplus:]] = False
    return chosen
