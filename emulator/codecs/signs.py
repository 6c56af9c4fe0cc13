"""Signs, eight to a byte: of every parameter, or of some entries with a mark at the end."""

import numpy as np
from numpy.typing import NDArray

from ..errors import WireError
from ..vectors import Buffer, Vector

_SIGN = np.uint32(31)
"""Position of the sign bit in a float32."""


def pack(negative: NDArray[np.bool_]) -> bytes:
    """Return one bit for each entry, set where `negative`; the last byte is filled with zeros.

    The first entry is the lowest bit of the first byte.
    """
    return np.packbits(negative, bitorder="little").tobytes()


def unpack(frame: Buffer, size: int) -> NDArray[np.bool_]:
    """Return the signs of `size` entries. Raises WireError for another length or bits beyond."""
    if len(frame) != -(-size // 8):
        raise WireError(f"{len(frame)} bytes of signs for {size} parameters")
    if size % 8 and frame[-1] >> size % 8:
        raise WireError("signs go on beyond the last parameter")
    packed = np.frombuffer(frame, np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").view(np.bool_)


def pack_terminated(negative: NDArray[np.bool_]) -> bytes:
    """Return the bits of `pack` plus a set bit, so that the number of entries can be read back."""
    return pack(np.append(negative, True))


def terminated_count(frame: Buffer) -> int:
    """Return the number of signs in a frame of `pack_terminated`. Raises WireError without end."""
    if not len(frame) or not frame[-1]:
        raise WireError("signs have no end")
    # the highest set bit of the last byte is the end mark
    return 8 * (len(frame) - 1) + frame[-1].bit_length() - 1


def unpack_terminated(frame: Buffer) -> NDArray[np.bool_]:
    """Return the signs in a frame of `pack_terminated`."""
    packed = np.frombuffer(frame, np.uint8)
    return np.unpackbits(packed, count=terminated_count(frame), bitorder="little").view(np.bool_)


def negate_where(values: Vector, negative: NDArray[np.bool_]) -> None:
    """Negate `values[i]` wherever `negative[i]`, in place. `values` must not be negative yet."""
    # set the sign bits: negation under a boolean mask takes twenty times as long
    values.view(np.uint32)[:] |= negative.astype(np.uint32) << _SIGN
