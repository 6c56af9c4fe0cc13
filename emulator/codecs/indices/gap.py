"""Indices as the gaps between them, each a varint (LEB128): one byte for most, at 1 %.

The number written is how many parameters were skipped since the last index, so every
sequence of varints ascends strictly, and two neighbours cost a zero.
"""

import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...layout import Layout
from ..base import Buffer, Indices

_LONGEST = 5
"""Bytes of a varint that holds 32 bits."""
_BITS = 7
_MORE = 1 << _BITS
"""The flag on every byte of a varint but its last."""


def encode(indices: Indices, layout: Layout) -> bytes:
    skips = indices.copy()
    skips[1:] -= indices[:-1] + 1
    longest = max(1, -(-int(skips.max(initial=0)).bit_length() // _BITS))
    if longest == 1:
        return skips.astype(np.uint8).tobytes()
    # as if all were as long as the longest; then the bytes that are not needed are left out
    word = np.dtype("<u2" if longest == 2 else "<u4" if longest <= 4 else "<u8")
    skips = skips.astype(word, copy=False)
    stream, needed = skips & word.type(_MORE - 1), np.ones(skips.size, word)
    for place in range(1, longest):
        more = (skips >= word.type(1 << _BITS * place)).astype(word)
        needed |= more << word.type(8 * place)
        stream |= more << word.type(8 * place - 1)
        stream |= (skips << word.type(place)) & word.type(_MORE - 1 << 8 * place)
    return stream.view(np.uint8)[np.flatnonzero(needed.view(np.bool_))].tobytes()


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
