"""Messages as frames: a MessagePack head, then the arrays as they lie in memory.

`unpack` takes untrusted bytes. It bounds every size before it allocates, and raises a WireError for
a malformed message. The codec checks the arrays of an update, the server checks versions and that
segments fit the model's layers.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from ...codecs.base import ByteCount
from ...errors import WireError
from ...layout import Segment
from ...vectors import Buffer, Frames
from ..zmtp import PLAIN, Form, framing
from . import checksum, wire_cut
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
        case Activations() | ActivationGradient() | Logits() | LogitGradient():
            return wire_cut.pack(message)
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
    if (cut := wire_cut.unpack(head, arrays)) is not None:
        return cut
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
    """Return the size of `message` on the wire in bytes: its frames and their ZMTP framing."""
    match message:  # of a model the array's length, not its content
        case ModelReply():
            lengths = [len(heads.encode(_model_head(message))), message.theta.nbytes]
        case ModelSegment():
            lengths = [len(heads.encode(_model_segment_head(message))), message.theta.nbytes]
        case _:
            lengths = [len(frame) for frame in pack(message)]
    if form.checked:
        lengths.append(checksum.BYTES)
    return sum(lengths) + framing(lengths, form)


def pushed(update: Update | UpdateSegment, count: ByteCount, form: Form = PLAIN) -> Pushed:
    """Return the sizes of the parts of `update`; `count` holds the codec's count of its frames.

    A checksum is a part of the headers.
    """
    lengths = [len(frame) for frame in pack(update)]
    head = lengths[0]
    if form.checked:
        lengths.append(checksum.BYTES)
        head += checksum.BYTES
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
