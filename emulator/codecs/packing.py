"""Small numbers packed into bytes: flags, signs, and digits of any base.

Flags and signs take a bit each, the first in the lowest bit of the first byte. Digits share words
of 64 bits: 40 digits of base 3 fit in a word (1.6 bits each), 20 of base 9, and 9 of base 129. That
is within a tenth of the entropy of uniform levels, and less than whole bits for each number.
"""

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..vectors import Buffer, Vector

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


# -- flags ---------------------------------------------------------------------------------------


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


# -- signs ---------------------------------------------------------------------------------------


_SIGN_BIT = np.uint32(31)
"""Position of the sign bit in a float32."""


def pack_signs(negative: NDArray[np.bool_]) -> bytes:
    """Return one bit for each entry, set where `negative`; the last byte is filled with zeros.

    The first entry is the lowest bit of the first byte.
    """
    return packed(negative).tobytes()


def unpack_signs(frame: Buffer, size: int) -> NDArray[np.bool_]:
    """Return the signs of `size` entries. Raises WireError for another length or bits beyond."""
    if len(frame) != -(-size // 8):
        raise WireError(f"{len(frame)} bytes of signs for {size} parameters")
    if size % 8 and frame[-1] >> size % 8:
        raise WireError("signs go on beyond the last parameter")
    return unpacked(np.frombuffer(frame, np.uint8), size)


def pack_terminated(negative: NDArray[np.bool_]) -> bytes:
    """Return the bits of `pack_signs`, and a set bit that tells how many they are."""
    return pack_signs(np.append(negative, True))


def terminated_count(frame: Buffer) -> int:
    """Return the number of signs in a frame of `pack_terminated`. Raises WireError without end."""
    if not len(frame) or not frame[-1]:
        raise WireError("signs have no end")
    # the highest set bit of the last byte is the end mark
    return 8 * (len(frame) - 1) + frame[-1].bit_length() - 1


def unpack_terminated(frame: Buffer) -> NDArray[np.bool_]:
    """Return the signs in a frame of `pack_terminated`."""
    return unpacked(np.frombuffer(frame, np.uint8), terminated_count(frame))


def negate_where(values: Vector, negative: NDArray[np.bool_]) -> None:
    """Negate `values[i]` wherever `negative[i]`, in place. `values` must not be negative yet."""
    # set the sign bits: negation under a boolean mask takes twenty times as long
    values.view(np.uint32)[:] |= negative.astype(np.uint32) << _SIGN_BIT


# -- digits --------------------------------------------------------------------------------------


_DIGITS = np.dtype("<u8")
"""A word: 64 bits, least significant byte first."""
_LARGEST_WORD = np.iinfo(_DIGITS).max


def digits_per_word(base: int) -> int:
    """Return the number of digits in a word: the largest d with base^d < 2^64."""
    digits = 1
    while base ** (digits + 1) <= _LARGEST_WORD:
        digits += 1
    return digits


def pack_digits(digits: NDArray[np.uint8], base: int) -> bytes:
    """Return `digits`, each below `base`, as whole words of 8 bytes.

    Of n words, word i holds digits i, i + n, i + 2n, …, the first in the lowest place. So each step
    of Horner's rule is one operation on the whole array of words.
    """
    words = np.zeros(-(-digits.size // digits_per_word(base)), _DIGITS)
    # from the highest digits down: each step makes room for a digit in every word, and adds it
    for start in reversed(range(0, digits.size, words.size or 1)):
        column = digits[start : start + words.size]  # one digit for each word
        words *= np.uint64(base)
        words[: column.size] += column  # the highest column may be short: its rest is zeros
    return words.tobytes()


def unpack_digits(frame: Buffer, count: int, base: int) -> NDArray[np.uint8]:
    """Return the `count` digits below `base` in `frame`, as uint8.

    Raises WireError if `pack_digits` cannot have written `frame`: another length, or a word with a
    non-zero digit beyond the last.
    """
    size = -(-count // digits_per_word(base))
    if len(frame) != size * _DIGITS.itemsize:
        raise WireError(f"{len(frame)} bytes for {count} numbers of {base} levels")
    digits = np.empty(count, np.uint8)
    words: NDArray[np.uint64] = np.frombuffer(frame, _DIGITS)
    beyond = False
    for start in range(0, count, size or 1):
        quotients = words // np.uint64(base)
        column = words - quotients * np.uint64(base)  # quicker than a second division by %
        last = min(size, count - start)
        digits[start : start + last] = column[:last]
        beyond |= bool(column[last:].any())
        words = quotients
    if beyond or words.any():
        raise WireError("a word holds more than its numbers")
    return digits
