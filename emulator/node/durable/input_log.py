"""The inputs of the server, or of a shard of it, as records of a log: input, sender and time.

A record's first part is a head in MessagePack. A message has its frames behind the head, as they
travel; a line of `run.jsonl` that the protocol did not write has its bytes behind it.
"""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from ...core import wire
from ...core.server.ledger import UnsentAnswer
from ...core.wire.messages import Message
from ...errors import WireError
from ...vectors import Buffer


class TimedInput(msgspec.Struct, frozen=True, array_like=True):
    """The head of a record."""

    now: float
    """When the input came, on the run's clock."""


class Heard(TimedInput, frozen=True, tag=0):
    """A message of `node`; the record goes on with the message's frames."""

    node: str


class Ticked(TimedInput, frozen=True, tag=1):
    """A call of the server at a time that the server had named."""


class Refused(TimedInput, frozen=True, tag=2):
    """A message of `node` that could not be read, for `reason`."""

    node: str
    reason: str


class EndedRun(TimedInput, frozen=True, tag=3):
    """An order from outside to end the run."""

    reason: str
    detail: str


class Wrote(TimedInput, frozen=True, tag=4):
    """A line of `run.jsonl` that the protocol did not write; the line's bytes follow."""


class Shifted(TimedInput, frozen=True, tag=5):
    """The run's clock is ahead of the host's monotonic clock by `offset` from here on."""

    offset: float
    resumes: int
    """Times that the run was resumed after its conductor had died."""


class Unsent(TimedInput, frozen=True, tag=6):
    """Answers that could not leave."""

    answers: tuple[UnsentAnswer, ...]


class ReadModel(TimedInput, frozen=True, tag=7):
    """A look at the `part` of a leader's model, `model` or `optimizer`."""

    part: str


class Reported(TimedInput, frozen=True, tag=8):
    """A numbered report of the follower `shard`, whose bytes follow. The leader took it while it
    took the input before; the time of the record says nothing."""

    shard: int


class Told(TimedInput, frozen=True, tag=9):
    """A numbered or loose order of the leader to this follower; its bytes follow."""


class Observed(TimedInput, frozen=True, tag=10):
    """News of a follower's own, of no message: a refusal, or an answer that could not leave; the
    bytes of the news follow."""


Input: TypeAlias = (
    Heard
    | Ticked
    | Refused
    | EndedRun
    | Wrote
    | Shifted
    | Unsent
    | ReadModel
    | Reported
    | Told
    | Observed
)
Record: TypeAlias = tuple[Input, Message | None, bytes]
"""An input, its message if it has one, and the bytes behind it, if there are any."""
_WITH_BYTES = Wrote, Reported, Told, Observed

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Input).decode


def parts(entry: Input, behind: Sequence[Buffer] = ()) -> list[Buffer]:
    """Return the parts of the record of `entry`."""
    return [_encode(entry), *behind]


def received(now: float, message: Message, node: str) -> list[Buffer]:
    """Return the parts of the record of a `message` of `node`."""
    return parts(Heard(now, node), wire.pack(message))


def parse(record: Sequence[bytes]) -> Record:
    """Return the entry, the message (or None) and the bytes behind it (or none) in `record`.

    Raises ValueError for a record that no server has written.
    """
    if not record:
        raise ValueError("a record without a head")
    try:
        entry = _decode(record[0])
        message = wire.unpack(record[1:]) if isinstance(entry, Heard) else None
    except (msgspec.MsgspecError, UnicodeError, WireError) as error:
        raise ValueError(f"not an input of the server: {error}") from error
    return entry, message, b"".join(record[1:]) if isinstance(entry, _WITH_BYTES) else b""
