"""Messages as frames: a MessagePack head, then the arrays as they lie in memory.

`unpack` takes untrusted bytes. It bounds every size before it allocates, and raises a WireError for
a malformed message. The codec checks the arrays of an update, the server checks versions.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np

from ..codecs.base import ByteCount
from ..errors import WireError
from ..vectors import Buffer
from .messages import Begin, Bye, Diverged, Hello, Message, ModelReply, Patch, Pull, Score, Update

PARTS = 5
"""Largest number of frames of a message: a head, and an update's headers, indices, values, and its
dense variables."""

Natural: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class _Head(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The first frame of a message: a tag, then the fields by position."""


class _Hello(_Head, tag=0):
    node: Name
    incarnation: Natural


class _Begin(_Head, tag=1):
    zero: float


class _Pull(_Head, tag=2):
    node: Name
    ticket: Natural
    after: Natural
    held: Natural | None


class _Model(_Head, tag=3):
    ticket: Natural
    version: Natural


class _Update(_Head, tag=4):
    node: Name
    version: Natural
    loss: float
    compute: float


class _Diverged(_Head, tag=5):
    node: Name
    version: Natural


class _Score(_Head, tag=6):
    node: Name
    version: Natural
    accuracy: Annotated[float, msgspec.Meta(ge=0, le=1)]
    loss: float


class _Bye(_Head, tag=7):
    pass


class _Patch(_Head, tag=8):
    ticket: Natural
    version: Natural
    base: Natural | None


_Heads: TypeAlias = _Hello | _Begin | _Pull | _Model | _Update | _Diverged | _Score | _Bye | _Patch
_PLAIN: dict[type[_Head], type[Any]] = {
    _Hello: Hello,
    _Begin: Begin,
    _Pull: Pull,
    _Diverged: Diverged,
    _Score: Score,
    _Bye: Bye,
}
"""Messages that consist of a head alone, by their heads."""

_HEAD_OF: dict[type[Any], type[_Head]] = {message: head for head, message in _PLAIN.items()}
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Heads).decode
_F = TypeVar("_F")


def pack(message: Message) -> list[Buffer]:
    """Return the frames of `message`; arrays are views of the message's arrays, not copies."""
    match message:
        case ModelReply(ticket, version, theta):
            return [_encode(_Model(ticket, version)), theta.view(np.uint8).data]
        case Patch(ticket, version, base, frames):
            return [_encode(_Patch(ticket, version, base)), *frames]
        case Update(node, version, loss, compute, frames):
            if len(frames) >= PARTS:  # the server would refuse every update of this device
                raise ValueError(f"an update has up to {PARTS - 1} frames, not {len(frames)}")
            return [_encode(_Update(node, version, loss, compute)), *frames]
    head = _HEAD_OF[type(message)]
    fields = (getattr(message, name) for name in head.__struct_fields__)
    return [_encode(head(*fields))]


def unpack(frames: Sequence[Buffer]) -> Message:
    """Return the message in `frames`; its arrays are views of `frames`. Raises WireError."""
    if not 1 <= len(frames) <= PARTS:
        raise WireError(f"a message has 1 to {PARTS} frames, not {len(frames)}")
    try:
        head = _decode(frames[0])
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise WireError(f"unreadable head: {error}") from None
    arrays = list(frames[1:])
    match head:
        case _Model(ticket, version):
            return ModelReply(ticket, version, _vector(_only(arrays)))
        case _Patch(ticket, version, base):
            if len(arrays) != (expected := 1 if base is None else 2):
                raise WireError(f"a model of {len(arrays)} arrays, expected {expected}")
            return Patch(ticket, version, base, arrays)
        case _Update(node, version, loss, compute):
            if not (math.isfinite(compute) and compute >= 0):
                raise WireError(f"a gradient cannot take {compute} s")
            return Update(node, version, loss, compute, arrays)
    if arrays:
        raise WireError(f"{len(arrays)} frames behind a head that stands alone")
    if isinstance(head, _Begin) and not math.isfinite(head.zero):
        raise WireError(f"the run cannot begin at {head.zero}")
    fields = (getattr(head, name) for name in head.__struct_fields__)
    message: Message = _PLAIN[type(head)](*fields)
    return message


class Pushed(NamedTuple):
    """Sizes of the parts of an update on the wire, in bytes."""

    values: int
    indices: int
    headers: int
    """The message's head and the codec's own headers."""
    framing: int

    @property
    def total(self) -> int:
        return sum(self)


def size(message: Message, *, encrypted: bool = False) -> int:
    """Return the size of `message` on the wire in bytes: its frames and their ZMTP framing."""
    match message:
        case ModelReply(ticket, version, theta):  # the array's length, not its content
            lengths = [len(_encode(_Model(ticket, version))), theta.nbytes]
        case _:
            lengths = [len(frame) for frame in pack(message)]
    return sum(lengths) + framing(lengths, encrypted=encrypted)


def pushed(update: Update, count: ByteCount, *, encrypted: bool = False) -> Pushed:
    """Return the sizes of the parts of `update`; `count` holds the codec's count of its frames."""
    lengths = [len(frame) for frame in pack(update)]
    head = lengths[0]
    return Pushed(
        count.values, count.indices, head + count.headers, framing(lengths, encrypted=encrypted)
    )


def dense_push(parameters: int, *, encrypted: bool = False) -> int:
    """Return the size on the wire of an uncompressed update: every one of `parameters` as f32."""
    return size(Update("device-0", 0, 0.0, 0.0, (bytes(4 * parameters),)), encrypted=encrypted)


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


def _only(arrays: Sequence[_F]) -> _F:
    if len(arrays) != 1:
        raise WireError(f"a model has one array, not {len(arrays)}")
    return arrays[0]


def _vector(frame: Buffer) -> Any:
    if len(frame) % 4:
        raise WireError(f"{len(frame)} bytes are no vector of f32")
    return np.frombuffer(frame, np.float32)
