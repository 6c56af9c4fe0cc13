"""Checksums of messages, by which a receiver recognises bits that were flipped on the way.

TCP's own checksum covers the network; memory and software above TCP corrupt messages, too (Stone
and Partridge, 2000). A CRC-32 finds every damage within 32 bits in a row, in a message of any
length.
"""

import zlib
from collections.abc import Iterable, Sequence

from ...errors import WireError
from ...vectors import Buffer

BYTES = 4
"""Bytes of a checksum, which travels as the last frame of its message."""

MISMATCH = "its checksum does not match: bits were flipped on the way"


def sealed(frames: Sequence[Buffer]) -> list[Buffer]:
    """Return `frames` with their checksum as another frame."""
    return [*frames, _crc(frames)]


def opened(frames: Sequence[Buffer]) -> list[Buffer]:
    """Return the frames that `sealed` got. Raises WireError if they are not as they were."""
    *inner, checksum = frames or [b""]
    if bytes(checksum) != _crc(inner):
        raise WireError(MISMATCH)
    return inner


def _crc(frames: Iterable[Buffer]) -> bytes:
    crc = 0
    for frame in frames:
        crc = zlib.crc32(frame, crc)
    return crc.to_bytes(BYTES, "little")
