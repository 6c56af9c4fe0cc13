"""Flags packed eight to a byte, the first flag in the lowest bit."""

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Positions = NDArray[np.uint32]

_WORD = np.dtype("<u4")
"""Unit of the search for set flags: 32 flags in a word, the first in the lowest bit."""
_SHIFT = np.uint32(5)
"""Binary logarithm of the flags in a word: a word's number times 32 is its first position."""
_LAST = np.uint32(31)
"""Mask of a position within a word."""
_ONE = np.uint32(1)
_DENSE = 0.75
"""Share of words with any flag set above which unpacking all flags is faster (measured)."""
_CLUSTERED = 3
"""Mean number of set flags in non-zero words above which unpacking these words is faster
(measured)."""
_FEW = 1 << 8
"""Number of words up to which unpacking them is faster than another round of bit tricks."""
_SHORT = 1 << 12
"""Number of bytes below which unpacking all flags is fastest."""


def packed(flags: Flags) -> Bytes:
    """Return the flags as bytes; the last byte is filled up with zeros."""
    return np.packbits(flags, bitorder="little")


def unpacked(bytes_: Bytes, count: int | None = None) -> Flags:
    """Return the first `count` flags of `bytes_`, or every flag if `count` is None."""
    return np.unpackbits(bytes_, count=count, bitorder="little").view(np.bool_)


def positions(bytes_: Bytes) -> Positions:
    """Return the positions of the set flags, ascending; at most 2^32 flags.

    Each round takes the lowest set flag off every word that has any left, so the cost is a pass
    over the words plus O(set flags). With few flags set this takes a third of the time of
    `flatnonzero`.
    """
    if bytes_.size < _SHORT:
        return _flat(bytes_)
    if padding := -bytes_.size % _WORD.itemsize:
        bytes_ = np.append(bytes_, np.zeros(padding, np.uint8))
    words = bytes_.view(_WORD)
    nonzero = np.flatnonzero(words != 0)
    if nonzero.size > _DENSE * words.size:
        return _flat(bytes_)
    # invariant: `remaining` holds non-zero words, `starts` the position of the first flag of each
    remaining, starts, runs = words.take(nonzero), nonzero.astype(np.uint32) << _SHIFT, []
    if np.bitwise_count(remaining).sum() > _CLUSTERED * remaining.size:
        return _within(remaining, starts)
    while remaining.size > _FEW:
        below = remaining - _ONE  # clears the lowest set flag and sets all flags below it
        without_lowest = remaining & below  # the word without its lowest set flag
        # below ^ without_lowest has exactly the bits below the lowest flag: as many as its position
        runs.append(starts + np.bitwise_count(below ^ without_lowest))
        # on booleans flatnonzero takes a fifth of its time on integers
        unfinished = np.flatnonzero(without_lowest != 0)
        remaining, starts = without_lowest.take(unfinished), starts.take(unfinished)
    runs.append(_within(remaining, starts))
    # each run ascends, but a later run holds later flags of the same words
    ascending = np.concatenate(runs)
    ascending.sort()
    return ascending


def _within(words: NDArray[np.uint32], starts: Positions) -> Positions:
    """Return the positions of all set flags in `words`; `starts` are the words' first positions."""
    within = _flat(words.view(np.uint8))
    return starts.take(within >> _SHIFT) + (within & _LAST)


def _flat(bytes_: Bytes) -> Positions:
    """Return the positions of the set flags by unpacking every byte."""
    return np.flatnonzero(unpacked(bytes_)).astype(np.uint32)
