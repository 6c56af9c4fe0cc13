"""Numbers of a few levels each, as the digits of 64-bit words: 40 of three levels in a word.

With 1.6 bits for three levels, 3.2 for nine and 7.1 for 129 that is within a tenth of their
entropy were all levels alike, and closer than whole bits for each.
"""

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..vectors import Buffer

_WORD = np.dtype("<u8")
_LARGEST = np.iinfo(_WORD).max


def digits_per_word(base: int) -> int:
    """How many digits a word holds."""
    digits = 1
    while base ** (digits + 1) <= _LARGEST:
        digits += 1
    return digits


def pack(digits: NDArray[np.uint8], base: int) -> bytes:
    """Whole words: the first of them all hold their first digits, then their second ones."""
    words = np.zeros(-(-digits.size // digits_per_word(base)), _WORD)
    for start in reversed(range(0, digits.size, words.size or 1)):
        place = digits[start : start + words.size]
        words *= np.uint64(base)
        words[: place.size] += place
    return words.tobytes()


def unpack(frame: Buffer, count: int, base: int) -> NDArray[np.uint8]:
    """The `count` digits below `base`; a WireError if `pack` has not written the frame."""
    size = -(-count // digits_per_word(base))
    if len(frame) != size * _WORD.itemsize:
        raise WireError(f"{len(frame)} bytes for {count} numbers of {base} levels")
    digits = np.empty(count, np.uint8)
    words: NDArray[np.uint64] = np.frombuffer(frame, _WORD)
    beyond = False
    for start in range(0, count, size or 1):
        rest = words // np.uint64(base)
        place = words - rest * np.uint64(base)
        last = min(size, count - start)
        digits[start : start + last] = place[:last]
        beyond |= bool(place[last:].any())
        words = rest
    if beyond or words.any():
        raise WireError("a word holds more than its numbers")
    return digits
