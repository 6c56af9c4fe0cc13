"""Packing of small numbers as digits of 64-bit words: 40 numbers of three levels fit in a word.

That is 1.6 bits for three levels, 3.2 for nine and 7.1 for 129: within a tenth of the entropy of
uniform levels, and less than whole bits for each number.
"""

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..vectors import Buffer

_WORD = np.dtype("<u8")
"""A word: 64 bits, least significant byte first."""
_LARGEST = np.iinfo(_WORD).max


def digits_per_word(base: int) -> int:
    """Return the number of digits in a word: the largest d with base^d < 2^64."""
    digits = 1
    while base ** (digits + 1) <= _LARGEST:
        digits += 1
    return digits


def pack(digits: NDArray[np.uint8], base: int) -> bytes:
    """Return `digits`, each below `base`, as whole words of 8 bytes.

    Of n words, word i holds digits i, i + n, i + 2n, …, the first in the lowest place. So each step
    of Horner's rule is one operation on the whole array of words.
    """
    words = np.zeros(-(-digits.size // digits_per_word(base)), _WORD)
    # from the highest digits down: each step makes room for a digit in every word, and adds it
    for start in reversed(range(0, digits.size, words.size or 1)):
        column = digits[start : start + words.size]  # one digit for each word
        words *= np.uint64(base)
        words[: column.size] += column  # the highest column may be short: its rest is zeros
    return words.tobytes()


def unpack(frame: Buffer, count: int, base: int) -> NDArray[np.uint8]:
    """Return the `count` digits below `base` in `frame`, as uint8.

    Raises WireError if `pack` cannot have written `frame`: another length, or a word with a
    non-zero digit beyond the last.
    """
    size = -(-count // digits_per_word(base))
    if len(frame) != size * _WORD.itemsize:
        raise WireError(f"{len(frame)} bytes for {count} numbers of {base} levels")
    digits = np.empty(count, np.uint8)
    words: NDArray[np.uint64] = np.frombuffer(frame, _WORD)
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
