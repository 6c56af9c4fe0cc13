"""Messages as frames: a MessagePack head, then the arrays as they lie in memory.

`unpack` takes untrusted bytes. It bounds every size before it allocates, and raises a WireError for
a malformed message. The codec checks the arrays of an update; the server checks versions, that
segments fit the model's layers, and that what crosses the cut of a model fits its sizes.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from ...codecs.base import ByteCount
from ...errors import WireError
from ...layout import Segment
from ...vectors import Buffer, Frames
from ..zmtp import PLAIN, Form, framing
from . import wire_heads as heads
from .messages import (
    ActivationGradient,
    Activations,
    Again,
    Begin,
    Bye,
    Diverged,
    Hello,
    Leave,
    LogitGradient,
    Logits,
    Message,
    ModelReply,
    ModelSegment,
    Patch,
    PatchSegment,
    Pull,
    Score,
    Times,
    Update,
    UpdateSegment,
)

PARTS = 5
"""Largest number of frames of a message: a head, and an update's headers, indices, values, and its
dense variables."""

_PLAIN: dict[type[heads.Head], type[Any]] = {
    heads.HelloHead: Hello,
    heads.LeaveHead: Leave,
    heads.AgainHead: Again,
    heads.BeginHead: Begin,
    heads.PullHead: Pull,
    heads.DivergedHead: Diverged,
    heads.ScoreHead: Score,
    heads.ByeHead: Bye,
}
"""Messages that consist of a head alone, by their heads."""

_HEAD_OF: dict[type[Any], type[heads.Head]] = {message: head for head, message in _PLAIN.items()}
_F = TypeVar("_F")

_SMALLEST = 2
"""Bytes of a value in the shortest coding of activations, float16."""
_F32 = _LABEL = 4
"""Bytes of a logit and of a label."""

CHECKSUM = 4
"""Bytes of a checksum, which travels as the last frame of its message."""
MISMATCH = "its checksum does not match: bits were flipped on the way"


# -- to bytes ------------------------------------------------------------------------------------


def pack(message: Message) -> list[Buffer]:
    """Return the frames of `message`; arrays are views of the message's arrays, not copies."""
    plain = _HEAD_OF.get(type(message))
    if plain and not _longer(message):
        return [heads.encode(plain(*[getattr(message, name) for name in plain.__struct_fields__]))]
    match message:
        case ModelReply():
            return [heads.encode(_model_head(message)), message.theta.view(np.uint8).data]
        case Update(node, version, loss, compute, frames, None):
            head: heads.Head = heads.UpdateHead(node, version, loss, compute)
            return [heads.encode(head), *_pushed_frames(frames)]
        case Update(node, version, loss, compute, frames, int(ticket)):
            head = heads.NumberedUpdateHead(node, version, loss, compute, ticket)
            return [heads.encode(head), *_pushed_frames(frames)]
        case Patch(ticket, version, base, frames):
            return [heads.encode(heads.PatchHead(ticket, version, base)), *frames]
        case ModelSegment():
            return [heads.encode(_model_segment_head(message)), message.theta.view(np.uint8).data]
        case PatchSegment(ticket, version, segment, base, frames, times):
            head = heads.PatchSegmentHead(ticket, version, segment, base, _plain(times))
            return [heads.encode(head), *frames]
        case UpdateSegment(node, version, ticket, segment, loss, compute, frames):
            head = heads.UpdateSegmentHead(node, version, ticket, segment, loss, compute)
            return [heads.encode(head), *_pushed_frames(frames)]
        case Pull(node, ticket, after, held, segments):
            head = heads.SegmentedPullHead(node, ticket, after, held, _ends(segments))
            return [heads.encode(head)]
        case Score(node, version, None, loss, float(error)):
            return [heads.encode(heads.ErrorScoreHead(node, version, loss, error))]
        case Activations(node, version, ticket, rows, activations, labels):
            head = heads.ActivationsHead(node, version, ticket, rows)
            return [heads.encode(head), activations, *([] if labels is None else [labels])]
        case ActivationGradient(ticket, loss, gradient):
            return [heads.encode(heads.ActivationGradientHead(ticket, loss)), gradient]
        case Logits(ticket, logits):
            return [heads.encode(heads.LogitsHead(ticket)), logits]
        case LogitGradient(node, ticket, loss, gradient):
            return [heads.encode(heads.LogitGradientHead(node, ticket, loss)), gradient]
    raise TypeError(f"{type(message).__name__} is no message")


def _longer(message: Message) -> bool:
    """Return whether a `message` that has a plain head needs one with more fields."""
    match message:
        case Pull():
            return bool(message.segments)
        case Score():
            return message.error is not None
    return False


def _model_head(model: ModelReply) -> heads.Head:
    return heads.ModelHead(model.ticket, model.version)


def _model_segment_head(piece: ModelSegment) -> heads.Head:
    times = _plain(piece.times)
    return heads.ModelSegmentHead(piece.ticket, piece.version, piece.segment, times)


def _pushed_frames(frames: Frames) -> Frames:
    """Return the `frames` of an update. Raises ValueError for more than a message may have."""
    if len(frames) >= PARTS:  # the server would refuse every update of this device
        raise ValueError(f"an update has up to {PARTS - 1} frames, not {len(frames)}")
    return frames


def _ends(segments: Sequence[Segment]) -> tuple[int, ...]:
    """Return the last layer of each of `segments`, which follow one another from layer 1."""
    ends = tuple(last for _, last in segments)
    backwards = any(first > last for first, last in segments)
    if backwards or tuple(_segments(ends)) != tuple(segments):
        raise ValueError(f"the segments {segments} do not follow one another from layer 1")
    return ends


def _segments(ends: Sequence[int]) -> Iterator[Segment]:
    """Yield the segments that follow one another from layer 1 and end at the layers `ends`."""
    return ((before + 1, end) for before, end in pairwise((0, *ends)))


def _plain(times: Times | None) -> tuple[float, tuple[float, ...]] | None:
    return (times.answered, times.arrived) if times else None


# -- from bytes ----------------------------------------------------------------------------------


def unpack(frames: Sequence[Buffer]) -> Message:
    """Return the message in `frames`; its arrays are views of `frames`. Raises WireError."""
    if not 1 <= len(frames) <= PARTS:
        raise WireError(f"a message has 1 to {PARTS} frames, not {len(frames)}")
    try:
        head = heads.decode(frames[0])
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise WireError(f"unreadable head: {error}") from None
    arrays = list(frames[1:])
    match head:
        case heads.ModelHead(ticket, version):
            return ModelReply(ticket, version, _vector(_only(arrays)))
        case heads.UpdateHead(node, version, loss, compute):
            return Update(node, version, loss, _duration(compute), arrays)
        case heads.NumberedUpdateHead(node, version, loss, compute, ticket):
            return Update(node, version, loss, _duration(compute), arrays, ticket)
        case heads.PatchHead(ticket, version, base):
            return Patch(ticket, version, base, _patch(arrays, base))
        case heads.ModelSegmentHead(ticket, version, segment, times):
            theta = _vector(_only(arrays))
            return ModelSegment(ticket, version, _segment(segment), theta, _times(times))
        case heads.PatchSegmentHead(ticket, version, segment, base, times):
            return PatchSegment(
                ticket, version, _segment(segment), base, _patch(arrays, base), _times(times)
            )
        case heads.UpdateSegmentHead(node, version, ticket, segment, loss, compute):
            return UpdateSegment(
                node, version, ticket, _segment(segment), loss, _duration(compute), arrays
            )
        case heads.ActivationsHead(node, version, ticket, rows):
            values, labels = _values_and_labels(arrays, rows)
            return Activations(node, version, ticket, rows, values, labels)
        case heads.ActivationGradientHead(ticket, loss):
            # no bytes: the mini-batch is lost
            return ActivationGradient(ticket, loss, _array(arrays, _SMALLEST, least=0))
        case heads.LogitsHead(ticket):
            return Logits(ticket, _array(arrays, _F32))
        case heads.LogitGradientHead(node, ticket, loss):
            return LogitGradient(node, ticket, loss, _array(arrays, _F32))
    if arrays:
        raise WireError(f"{len(arrays)} frames behind a head that stands alone")
    return _headed(head)


def _headed(head: heads.Head) -> Message:
    """Return the message that consists of `head` alone."""
    if isinstance(head, heads.SegmentedPullHead):
        segments = tuple(map(_segment, _segments(head.ends)))
        return Pull(head.node, head.ticket, head.after, head.held, segments)
    if isinstance(head, heads.ErrorScoreHead):
        return Score(head.node, head.version, None, head.loss, head.error)
    if isinstance(head, heads.BeginHead) and not math.isfinite(head.zero):
        raise WireError(f"the run cannot begin at {head.zero}")
    fields = (getattr(head, name) for name in head.__struct_fields__)
    message: Message = _PLAIN[type(head)](*fields)
    return message


def _segment(segment: Segment) -> Segment:
    first, last = segment
    if first > last:
        raise WireError(f"a segment cannot begin at layer {first} and end at layer {last}")
    return segment


def _times(times: tuple[float, tuple[float, ...]] | None) -> Times | None:
    if times is None:
        return None
    answered, arrived = times
    if not (math.isfinite(answered) and all(map(math.isfinite, arrived))):
        raise WireError("a time of the server is not finite")
    return Times(answered, arrived)


def _duration(seconds: float) -> float:
    if not (math.isfinite(seconds) and seconds >= 0):
        raise WireError(f"a gradient cannot take {seconds} s")
    return seconds


def _patch(arrays: list[_F], base: int | None) -> list[_F]:
    if len(arrays) != (expected := 1 if base is None else 2):
        raise WireError(f"a model of {len(arrays)} arrays, expected {expected}")
    return arrays


def _only(arrays: Sequence[_F]) -> _F:
    if len(arrays) != 1:
        raise WireError(f"a model has one array, not {len(arrays)}")
    return arrays[0]


def _vector(frame: Buffer) -> Any:
    if len(frame) % 4:
        raise WireError(f"{len(frame)} bytes are no vector of f32")
    return np.frombuffer(frame, np.float32)


def _values_and_labels(arrays: Sequence[Buffer], rows: int) -> tuple[Buffer, Buffer | None]:
    """Return the activations and the labels of `rows` examples, each with as many bytes a row."""
    if not 1 <= len(arrays) <= 2:
        raise WireError(f"activations have 1 or 2 arrays, not {len(arrays)}")
    values = _array(arrays[:1], _SMALLEST * rows)
    return values, _array(arrays[1:], _LABEL * rows) if arrays[1:] else None


def _array(arrays: Sequence[Buffer], unit: int, least: int = 1) -> Buffer:
    """Return the only one of `arrays`, a multiple of `unit` bytes and at least `least` long."""
    if len(arrays) != 1:
        raise WireError(f"{len(arrays)} arrays behind a head that has one")
    if len(arrays[0]) < least or len(arrays[0]) % unit:
        raise WireError(f"an array of {len(arrays[0])} bytes, expected a multiple of {unit}")
    return arrays[0]


# -- sizes ---------------------------------------------------------------------------------------


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


def size(message: Message, form: Form = PLAIN) -> int:
    """Return the size of `message` on the wire in bytes: its frames and their ZMTP framing.

    Messages of the kinds in `_SHAPES` are packed once for each shape: in virtual time, packing
    takes longer than any other part of an event.
    """
    shape_of = _SHAPES.get(type(message))
    shape = shape_of(message) if shape_of else None
    if shape is None:
        return _packed_size(message, form)
    known = _sizes.get((form, shape))
    if known is None:
        if len(_sizes) >= MOST_SIZES:
            _sizes.clear()
        known = _sizes[form, shape] = _packed_size(message, form)
    return known


def _packed_size(message: Message, form: Form) -> int:
    match message:  # of a model the array's length, not its content
        case ModelReply():
            lengths = [len(heads.encode(_model_head(message))), message.theta.nbytes]
        case ModelSegment():
            lengths = [len(heads.encode(_model_segment_head(message))), message.theta.nbytes]
        case _:
            lengths = [len(frame) for frame in pack(message)]
    if form.checked:
        lengths.append(CHECKSUM)
    return sum(lengths) + framing(lengths, form)


MOST_SIZES = 4096
"""Shapes of messages whose sizes are kept: a codec may make each update another length."""

_sizes: dict[tuple[Form, tuple[Any, ...]], int] = {}
"""Sizes of messages, by their form and shape."""


# MessagePack's length of a natural number depends on the number's bits alone, that of a string on
# its bytes; a float takes 9 bytes. So messages of one shape have frames of the same lengths.


def _hello_shape(hello: Hello) -> tuple[Any, ...]:
    return Hello, len(hello.node.encode()), hello.incarnation.bit_length()


def _pull_shape(pull: Pull) -> tuple[Any, ...] | None:
    if pull.segments:
        return None
    held = None if pull.held is None else pull.held.bit_length()
    numbers = pull.ticket.bit_length(), pull.after.bit_length(), held
    return Pull, len(pull.node.encode()), numbers


def _model_shape(model: ModelReply) -> tuple[Any, ...]:
    return ModelReply, model.ticket.bit_length(), model.version.bit_length(), model.theta.nbytes


def _update_shape(update: Update) -> tuple[Any, ...] | None:
    if type(update.loss) is not float or type(update.compute) is not float:
        return None  # an int has as many bytes as its value needs
    ticket = None if update.ticket is None else update.ticket.bit_length()
    node, frames = len(update.node.encode()), tuple(map(len, update.frames))
    return Update, node, update.version.bit_length(), ticket, frames


_SHAPES: dict[type[Any], Callable[[Any], tuple[Any, ...] | None]] = {
    Hello: _hello_shape,
    Pull: _pull_shape,
    ModelReply: _model_shape,
    Update: _update_shape,
    Begin: lambda begin: (Begin,) if type(begin.zero) is float else None,
    Again: lambda again: (Again,),
    Bye: lambda bye: (Bye,),
}
"""Functions that return the shape of a message of a frequent kind, or None to pack it."""


def pushed(update: Update | UpdateSegment, count: ByteCount, form: Form = PLAIN) -> Pushed:
    """Return the sizes of the parts of `update`; `count` holds the codec's count of its frames.

    A checksum is a part of the headers.
    """
    lengths = [len(frame) for frame in pack(update)]
    head = lengths[0]
    if form.checked:
        lengths.append(CHECKSUM)
        head += CHECKSUM
    return Pushed(count.values, count.indices, head + count.headers, framing(lengths, form))


def total(parts: Iterable[Pushed]) -> Pushed:
    """Return the sums of the sizes of an update's pieces, kind by kind."""
    return Pushed(*map(sum, zip(*parts, strict=True)))


def dense_pull(parameters: int, form: Form = PLAIN) -> int:
    """Return the size on the wire of a whole model: every one of `parameters` as f32."""
    theta = np.broadcast_to(np.float32(0), (parameters,))  # its length counts: it takes no memory
    return size(ModelReply(0, 0, theta), form)


def dense_push(parameters: int, form: Form = PLAIN) -> int:
    """Return the size on the wire of an uncompressed update: every one of `parameters` as f32."""
    return size(Update("device-0", 0, 0.0, 0.0, (bytes(4 * parameters),)), form)


# -- checksums -----------------------------------------------------------------------------------


def sealed(frames: Sequence[Buffer]) -> list[Buffer]:
    """Return `frames` with their checksum as another frame, by which flipped bits are recognised.

    TCP's own checksum covers the network; memory and software above TCP corrupt messages, too
    (Stone and Partridge, 2000). A CRC-32 finds every damage within 32 bits in a row, in a message
    of any length.
    """
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
    return crc.to_bytes(CHECKSUM, "little")
