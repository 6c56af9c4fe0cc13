"""ZMTP 3.1 as a run uses it: the form of messages, the bytes added to frames, and heartbeats."""

from collections.abc import Iterable

import msgspec


class Form(msgspec.Struct, frozen=True):
    """The form of all messages of a run on the wire."""

    encrypted: bool = False
    """Whether messages travel encrypted, which makes them larger."""
    checked: bool = False
    """Whether messages carry a checksum, by which the receiver recognises flipped bits."""
    durable: bool = False
    """Whether pushes have a number, and are sent again if their connection may have lost them."""


PLAIN = Form()


def framing(lengths: Iterable[int], form: Form = PLAIN) -> int:
    """Return the bytes added by ZMTP to frames with the given `lengths`."""
    return sum(framed(length, form) - length for length in lengths)


def framed(length: int, form: Form = PLAIN) -> int:
    """Return the bytes on the wire of a frame of `length` bytes.

    ZMTP 3.1 adds flags and length, 2 bytes or 9 beyond 255. CURVE wraps each frame in a MESSAGE
    command (RFC 26): a command name of 8 bytes, a nonce of 8, an authenticator of 16 and the inner
    flags of 1.
    """
    boxed = length + (33 if form.encrypted else 0)
    return boxed + (2 if boxed <= 255 else 9)


class Heartbeat(msgspec.Struct, frozen=True):
    """Times of ZMTP heartbeats, in seconds.

    ZeroMQ notices life only when a whole frame has arrived. The time-out must therefore exceed the
    time of the largest frame on the slowest link, or that link would never finish a frame.
    """

    interval: float = 2.0
    """Seconds between pings."""
    timeout: float = 10.0
    """Seconds of silence after which a connection is dropped."""

    @classmethod
    def fit(cls, transfer: float) -> "Heartbeat":
        """Return the heartbeat for links on which the largest frame takes `transfer` seconds."""
        return cls(timeout=max(10.0, 4 * transfer))
