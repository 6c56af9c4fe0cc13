"""The messages of a tunnel: a head and a payload, which is empty for most."""

from typing import Any, TypeAlias

import msgspec


class Head(msgspec.Struct, frozen=True, tag_field="t", tag=str.lower):
    """A head; its tag names the kind."""


class Open(Head, frozen=True):
    """The conductor begins the stream `number`."""

    number: int


class Data(Head, frozen=True):
    """The payload is the next piece of the stream."""

    number: int


class Taken(Head, frozen=True):
    """The receiver has passed on so many bytes of the stream, so as many more may follow."""

    number: int
    bytes: int


class Shut(Head, frozen=True):
    """The sender sends no more of the stream; it goes on to receive."""

    number: int


class Close(Head, frozen=True):
    """The stream has ended in both directions."""

    number: int


class Ask(Head, frozen=True):
    """A question of the conductor."""

    number: int
    what: str
    facts: dict[str, Any] = {}


class Answer(Head, frozen=True):
    """The answer to the question `number`."""

    number: int
    facts: dict[str, Any] = {}


class Refuse(Head, frozen=True):
    """The question `number` has no answer, for the reason `why`."""

    number: int
    why: str


StreamHead: TypeAlias = Open | Data | Taken | Shut | Close
AnyHead: TypeAlias = StreamHead | Ask | Answer | Refuse

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(AnyHead).decode

LARGEST = 1 << 30
"""Bytes of the largest payload that an agent takes: a data set's shard, or a graph."""
