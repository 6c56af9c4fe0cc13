"""The messages of a tunnel: a head and a payload, which is empty for most."""

from typing import Any, TypeAlias

import msgspec


class TunnelHead(msgspec.Struct, frozen=True, tag_field="t", tag=str.lower):
    """A head; its tag names the kind."""


class Open(TunnelHead, frozen=True):
    """The conductor begins the stream `number`."""

    number: int


class Data(TunnelHead, frozen=True):
    """The payload is the next piece of the stream."""

    number: int


class Taken(TunnelHead, frozen=True):
    """The receiver has passed on so many bytes of the stream, so as many more may follow."""

    number: int
    bytes: int


class Shut(TunnelHead, frozen=True):
    """The sender sends no more of the stream; it goes on to receive."""

    number: int


class Unread(TunnelHead, frozen=True):
    """The sender passes no more of the stream on, as nobody reads it; it goes on to send."""

    number: int


class Close(TunnelHead, frozen=True):
    """The stream has ended in both directions, if by an error for the reason `why`."""

    number: int
    why: str = ""


class Question(TunnelHead, frozen=True):
    """A question of the conductor."""

    number: int
    what: str
    facts: dict[str, Any] = {}


class Reply(TunnelHead, frozen=True):
    """The answer to the question `number`."""

    number: int
    facts: dict[str, Any] = {}


class NoReply(TunnelHead, frozen=True):
    """The question `number` has no answer, for the reason `why`."""

    number: int
    why: str


StreamHead: TypeAlias = Open | Data | Taken | Shut | Unread | Close
AnyTunnelHead: TypeAlias = StreamHead | Question | Reply | NoReply

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(AnyTunnelHead).decode

LARGEST = 1 << 24
"""Bytes of the largest payload that an agent takes: a batch of files."""
