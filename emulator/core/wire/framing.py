"""Bytes that ZMTP 3.1 and CURVE add to the frames of a message."""

from collections.abc import Iterable


def framing(lengths: Iterable[int], *, encrypted: bool = False) -> int:
    """Return the bytes added by ZMTP to frames with the given `lengths`."""
    return sum(framed(length, encrypted=encrypted) - length for length in lengths)


def framed(length: int, *, encrypted: bool = False) -> int:
    """Return the bytes on the wire of a frame of `length` bytes.

    ZMTP 3.1 adds flags and length, 2 bytes or 9 beyond 255. CURVE wraps each frame in a MESSAGE
    command (RFC 26): a command name of 8 bytes, a nonce of 8, an authenticator of 16 and the inner
    flags of 1.
    """
    boxed = length + (33 if encrypted else 0)
    return boxed + (2 if boxed <= 255 else 9)
