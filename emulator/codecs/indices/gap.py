"""Coding `gap`: the gaps between indices as varints (LEB128), mostly one byte each at 1 %.

A varint holds the number of parameters skipped since the last index. So every sequence of varints
ascends strictly, and two neighbours cost a zero byte.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Indices

_LONGEST = 5
"""Most bytes of a varint: five hold 32 bits."""
_BITS = 7
"""Payload bits in a byte of a varint."""
_MORE = 1 << _BITS
"""Flag set on every byte of a varint but the last."""
_ONE = np.uint32(1)

Word: TypeAlias = NDArray[Any]
"""Unsigned numbers, least significant byte first."""


def encode(indices: Indices, layout: Layout) -> bytes:
    # the first number is the first index itself, as if an index -1 came before
    skips = indices.copy()
    skips[1:] -= indices[:-1]
    skips[1:] -= _ONE
    longest = max(1, -(-int(skips.max(initial=0)).bit_length() // _BITS))
    if longest == 1:  # the usual case at 1 %: no byte has the flag
        return skips.astype(np.uint8).tobytes()
    if longest == 2:
        stream, needed = _pairs(skips.astype("<u2"))
    else:
        stream, needed = _words(skips.astype("<u4" if longest <= 4 else "<u8"), longest)
    # every varint fills a whole word; drop the bytes that are not needed
    return stream.view(np.uint8).take(np.flatnonzero(needed.view(np.bool_))).tobytes()


def _pairs(skips: Word) -> tuple[Word, Word]:
    """Return varints of at most two bytes, as `_words` does, for skips below 2^14: the common
    case."""
    word = skips.dtype.type
    higher = skips & word(_MORE - 1 << _BITS)
    skips += higher  # moves the upper seven bits one bit up, into the second byte
    skips += np.minimum(higher, word(_MORE), out=higher)  # the flag, where a second byte follows
    # a needed second byte is not zero; the first byte is always needed
    needed = (skips.view(np.uint8) != 0).view(skips.dtype)
    needed |= word(1)
    return skips, needed


def _words(skips: Word, longest: int) -> tuple[Word, Word]:
    """Return each varint in a word of its own, and a word of byte flags for the bytes that are
    needed.

    `longest` is the number of bytes of the longest varint; shorter ones are padded.
    """
    word = skips.dtype.type
    stream, needed = skips & word(_MORE - 1), np.ones(skips.size, skips.dtype)
    for byte in range(1, longest):
        more = (skips >= word(1 << _BITS * byte)).astype(skips.dtype)  # this byte is needed
        needed |= more << word(8 * byte)
        stream |= more << word(8 * byte - 1)  # the flag is the top bit of the byte before
        stream |= (skips << word(byte)) & word(_MORE - 1 << 8 * byte)  # payload of 7 bits
    return stream, needed


def decode(frame: Buffer, entries: int, layout: Layout) -> Indices:
    if not entries <= len(frame) <= entries * _LONGEST:
        raise WireError(f"{len(frame)} bytes of index gaps for {entries} values")
    if not entries:
        return np.empty(0, np.uint32)
    skips, size = _varints(np.frombuffer(frame, np.uint8), entries), layout.size
    # skips are bounded before they are added up, so that the sum cannot overflow int64
    if skips.max() >= size:
        raise WireError(f"a gap of {skips.max()} among {size} parameters")
    skips += 1
    indices = skips.cumsum()
    indices -= 1
    if indices[-1] >= size:
        raise WireError(f"index {indices[-1]} of {size} parameters")
    return indices.astype(np.uint32)


def least(entries: int, layout: Layout) -> int:
    return entries


def header(frame: Buffer) -> int:
    return 0


def _varints(stream: NDArray[np.uint8], entries: int) -> NDArray[np.int64]:
    """Return the `entries` numbers in `stream`. Raises WireError for a malformed varint."""
    # only the last byte of a varint lacks the flag: the ends give number and lengths of all
    (ends,) = (stream < _MORE).nonzero()
    if ends.size != entries or ends[-1] != stream.size - 1:
        raise WireError(f"{ends.size} whole index gaps for {entries} values")
    numbers = stream.take(ends).astype(np.int64)
    if entries == stream.size:
        return numbers  # a byte for each
    # not by np.diff: its Python code takes as long as all of this
    lengths = ends + 1
    lengths[1:] -= lengths[:-1].copy()
    longest = int(lengths.max())
    if longest > _LONGEST:
        raise WireError(f"an index gap of {longest} bytes")
    (longer,) = (lengths > 1).nonzero()
    if not numbers.take(longer).all():
        raise WireError("an index gap is longer than it need be")
    # Horner's rule from the last byte, the most significant, down to the first
    for byte in range(1, longest):
        if byte > 1:
            longer = longer.compress(lengths.take(longer) > byte)
        higher = numbers.take(longer) << _BITS
        numbers[longer] = higher + (stream.take(ends.take(longer) - byte) % _MORE)
    return numbers
