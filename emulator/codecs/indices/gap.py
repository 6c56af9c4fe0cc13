"""Indices as the gaps between them, each a varint (LEB128): one byte for most, at 1 %.

The number written is how many parameters were skipped since the last index, so every
sequence of varints ascends strictly, and two neighbours cost a zero.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices

_LONGEST = 5
"""Bytes of a varint that holds 32 bits."""
_BITS = 7
_MORE = 1 << _BITS
"""The flag on every byte of a varint but its last."""
_ONE = np.uint32(1)

Word: TypeAlias = NDArray[Any]
"""Unsigned numbers, the lowest byte first."""


def encode(indices: Indices, layout: Layout) -> bytes:
    skips = indices.copy()
    skips[1:] -= indices[:-1]
    skips[1:] -= _ONE
    longest = max(1, -(-int(skips.max(initial=0)).bit_length() // _BITS))
    if longest == 1:
        return skips.astype(np.uint8).tobytes()
    if longest == 2:
        stream, needed = _pairs(skips.astype("<u2"))
    else:
        stream, needed = _words(skips.astype("<u4" if longest <= 4 else "<u8"), longest)
    return stream.view(np.uint8).take(np.flatnonzero(needed.view(np.bool_))).tobytes()


def _pairs(skips: Word) -> tuple[Word, Word]:
    """As `_words`, of skips below 2^14: most sets of indices have no longer ones."""
    word = skips.dtype.type
    higher = skips & word(_MORE - 1 << _BITS)
    skips += higher  # one bit up
    skips += np.minimum(higher, word(_MORE), out=higher)
    # a second byte that is needed is not zero, and a first one always is
    needed = (skips.view(np.uint8) != 0).view(skips.dtype)
    needed |= word(1)
    return skips, needed


def _words(skips: Word, longest: int) -> tuple[Word, Word]:
    """Varints as if all were as long as the longest; and their bytes that are needed, as flags."""
    word = skips.dtype.type
    stream, needed = skips & word(_MORE - 1), np.ones(skips.size, skips.dtype)
    for place in range(1, longest):
        more = (skips >= word(1 << _BITS * place)).astype(skips.dtype)
        needed |= more << word(8 * place)
        stream |= more << word(8 * place - 1)
        stream |= (skips << word(place)) & word(_MORE - 1 << 8 * place)
    return stream, needed


def decode(frame: Buffer, entries: int, layout: Layout) -> Indices:
    if not entries <= len(frame) <= entries * _LONGEST:
        raise WireError(f"{len(frame)} bytes of index gaps for {entries} values")
    if not entries:
        return np.empty(0, np.uint32)
    skips, size = _varints(np.frombuffer(frame, np.uint8), entries), layout.size
    # bounded one by one before they are added up, so the sum cannot overflow
    if skips.max() >= size:
        raise WireError(f"a gap of {skips.max()} among {size} parameters")
    indices = (skips + 1).cumsum() - 1
    if indices[-1] >= size:
        raise WireError(f"index {indices[-1]} of {size} parameters")
    return indices.astype(np.uint32)


def least(entries: int, layout: Layout) -> int:
    return entries


def header(frame: Buffer) -> int:
    return 0


def _varints(stream: NDArray[np.uint8], entries: int) -> NDArray[np.int64]:
    ends = np.flatnonzero(stream < _MORE)
    if ends.size != entries or ends[-1] != stream.size - 1:
        raise WireError(f"{ends.size} whole index gaps for {entries} values")
    lengths = np.diff(ends, prepend=-1)
    if lengths.max() > _LONGEST:
        raise WireError(f"an index gap of {lengths.max()} bytes")
    if ((stream[ends] == 0) & (lengths > 1)).any():
        raise WireError("an index gap is longer than it need be")
    # from the last byte, the highest bits, down to the first
    numbers = stream[ends].astype(np.int64)
    for place in range(1, lengths.max()):
        longer = np.flatnonzero(lengths > place)
        numbers[longer] = (numbers[longer] << _BITS) + (stream[ends[longer] - place] % _MORE)
    return numbers
