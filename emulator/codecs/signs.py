"""Signs, eight to a byte: of every entry, or of some, and then with a mark where they end."""

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..vectors import Buffer, Vector

_SIGN = np.uint32(31)


def pack(negative: NDArray[np.bool_]) -> bytes:
    """A bit for each, the first the lowest of its byte; the last byte is filled with zeros."""
    return np.packbits(negative, bitorder="little").tobytes()


def unpack(frame: Buffer, size: int) -> NDArray[np.bool_]:
    """The signs of `size` entries; a WireError if the frame holds other than that."""
    if len(frame) != -(-size // 8):
        raise WireError(f"{len(frame)} bytes of signs for {size} parameters")
    if size % 8 and frame[-1] >> size % 8:
        raise WireError("signs go on beyond the last parameter")
    packed = np.frombuffer(frame, np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").view(np.bool_)


def pack_terminated(negative: NDArray[np.bool_]) -> bytes:
    """As `pack`, with one more bit, which is set: how many there are can be read from it."""
    return pack(np.append(negative, True))


def terminated_count(frame: Buffer) -> int:
    """How many signs `pack_some` has packed; a WireError if they have no end."""
    if not len(frame) or not frame[-1]:
        raise WireError("signs have no end")
    return 8 * (len(frame) - 1) + frame[-1].bit_length() - 1


def unpack_terminated(frame: Buffer) -> NDArray[np.bool_]:
    """The signs that `pack_some` has packed."""
    packed = np.frombuffer(frame, np.uint8)
    return np.unpackbits(packed, count=terminated_count(frame), bitorder="little").view(np.bool_)


def negate_where(values: Vector, negative: NDArray[np.bool_]) -> None:
    """Put those below zero, in place, of values that are not yet."""
    # by their bits: a mask of negations takes twenty times as long
    values.view(np.uint32)[:] |= negative.astype(np.uint32) << _SIGN
