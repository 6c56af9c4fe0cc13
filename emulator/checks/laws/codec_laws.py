"""Laws that every codec keeps: each is a function of a codec and a case, and raises BrokenLaw.

`codec_trials` tries them.
"""

import json
import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ... import chance
from ...codecs import ErrorFeedback, encoder, plain, refusal, uncuttable
from ...codecs.base import Codec, Encoder, EncoderContext, Memory, RememberingEncoder
from ...codecs.feedback import RandomEncoder, StatelessEncoder
from ...codecs.segment_encoder import SegmentEncoder
from ...core import wire
from ...core.wire.messages import Update
from ...errors import WireError
from ...layout import Layout
from ...vectors import Buffer, Frames, Gradient, NotFinite, Vector

SLACK = 65536
"""Bytes by which a frame may exceed the dense gradient; a server refuses longer ones."""

_F = np.float32


class BrokenLaw(Exception):
    """A codec breaks a law; the message says how."""


class Case(NamedTuple):
    """A model, and gradients in the order of encoding."""

    layout: Layout
    gradients: tuple[Vector, ...]

    @property
    def context(self) -> EncoderContext:
        """The context of a worker's first boot, with the same draws each time."""
        return EncoderContext(self.layout, chance.stream(chance.codec(0, "device", 0)), 4, 10)

    def __str__(self) -> str:
        shapes = ", ".join(f"{v.kind} {list(v.shape)}" for v in self.layout.variables)
        values = " then ".join(short(gradient) for gradient in self.gradients)
        return f"gradient {values} of a model with {shapes}"


Law: TypeAlias = Callable[[Codec, Case], None]


# -- the laws ----------------------------------------------------------------------------------


def charged(codec: Codec, case: Case) -> None:
    """`count` adds up to the bytes of the frames, which a message carries as they are."""
    for frames in _sent(codec.start(case.context), case):
        count = codec.count(frames)
        total = sum(map(len, frames))
        if len(count) != 3 or sum(count) != total or min(count) < 0:
            raise BrokenLaw(f"count says {tuple(count)}, and the frames have {total} bytes")
        if codec.count([memoryview(bytes(frame)) for frame in frames]) != count:
            raise BrokenLaw("count of frames from a socket differs from that of the sent ones")
        longest = max(map(len, frames), default=0)
        if longest > 4 * case.layout.size + SLACK:
            raise BrokenLaw(f"a frame has {longest} bytes: a server refuses it")
        update = Update("device", 0, 1.0, 0.1, frames)
        if wire.size(update) < total:
            raise BrokenLaw("a message of the frames is shorter than the frames")


def decoded(codec: Codec, case: Case) -> None:
    """`decode` returns float32 values, with ascending indices of parameters, always the same.

    They do not point against the gradient, unless the codec draws.
    """
    _check_direction(codec, case)
    for frames in _sent(codec.start(case.context), case):
        first = codec.decode(frames, case.layout)
        check_gradient(first, case.layout)
        again = codec.decode([memoryview(bytes(frame)) for frame in frames], case.layout)
        if _spread(first, case.layout).tobytes() != _spread(again, case.layout).tobytes():
            raise BrokenLaw(f"decode returns other values for equal frames {_hex(frames)}")


def repeatable(codec: Codec, case: Case) -> None:
    """Two workers with the same draws send the same bytes, so a run can be repeated."""
    one, other = codec.start(case.context), codec.start(case.context)
    for gradient in case.gradients:
        copy = gradient.copy()
        sent = _bytes(one.encode(gradient))
        if gradient.tobytes() != copy.tobytes():
            raise BrokenLaw("encode changes the gradient that it is given")
        frames = other.encode(copy)
        copy[:] = 0
        if _bytes(frames) != sent:
            raise BrokenLaw(
                "the frames are not the same a second time: draw from the context's `rng` only, "
                "and copy the gradient's memory"
            )


def finite(codec: Codec, case: Case) -> None:
    """`encode` raises NotFinite for a NaN or an infinity, and forgets the refused gradient."""
    *before, last = case.gradients
    for wrong in (math.nan, math.inf, -math.inf):
        for at in sorted({0, case.layout.size // 2, case.layout.size - 1}):
            spoilt = last.copy()
            spoilt[at] = wrong
            one, other = codec.start(case.context), codec.start(case.context)
            for gradient in before:
                one.encode(gradient)
                other.encode(gradient)
            try:
                one.encode(spoilt)
            except NotFinite:
                pass
            else:
                raise BrokenLaw(f"encode takes a gradient with {wrong} in entry {at}")
            if _bytes(one.encode(last)) != _bytes(other.encode(last)):
                raise BrokenLaw(f"a refused gradient with {wrong} changes the next frames")


def fitting(codec: Codec, case: Case) -> None:
    """`encode` raises ValueError for a gradient of another model."""
    started = codec.start(case.context)
    others: tuple[Any, ...] = (
        np.zeros(case.layout.size + 1, _F),
        np.zeros(case.layout.size, np.float64),
    )
    for other in others:
        try:
            started.encode(other)
        except ValueError:
            continue
        raise BrokenLaw(f"encode takes {other.dtype}[{other.size}] for {case.layout.size} entries")


def hostile(codec: Codec, case: Case) -> None:
    """`decode` raises WireError for frames that `encode` cannot have made."""
    for frames in _sent(codec.start(case.context), case):
        for lie, certain in _lies(frames, case):
            try:
                found = codec.decode(lie, case.layout)
            except WireError:
                continue
            except Exception as error:
                raise BrokenLaw(
                    f"decode raises {named(error)} for the frames {_hex(lie)}: a server would "
                    "die of them; raise WireError"
                ) from error
            if certain:
                raise BrokenLaw(f"decode takes the frames {_hex(lie)} in place of {_hex(frames)}")
            try:
                check_gradient(found, case.layout)
            except BrokenLaw as error:
                raise BrokenLaw(
                    f"of the frames {_hex(lie)} that a stranger sent, {error}"
                ) from error


def feedback(codec: Codec, case: Case) -> None:
    """With error feedback, what is sent and what is kept add up to the gradients."""
    if refusal(codec):
        started = codec.start(case.context)  # it may have an error feedback of its own
    else:
        started = encoder(codec, case.context, error_feedback=True)
    total, sent = np.zeros(case.layout.size), np.zeros(case.layout.size)
    for gradient in case.gradients:
        frames = started.encode(gradient)
        total += gradient
        sent += _spread(codec.decode(frames, case.layout), case.layout)
        if not isinstance(started, ErrorFeedback):
            continue
        scale = np.abs(total) + np.abs(sent) + np.abs(started.residual) + np.abs(gradient).max()
        if (np.abs(total - sent - started.residual) > 1e-5 * scale).any():
            raise BrokenLaw(
                f"gradients of {short(total.astype(_F))} in all were sent as "
                f"{short(sent.astype(_F))}, and {short(started.residual)} is kept"
            )


def remembered(codec: Codec, case: Case) -> None:
    """A device that goes on from its kept state sends the same bytes as without the crash."""
    one, other = codec.start(case.context), codec.start(case.context)
    if isinstance(one, StatelessEncoder):
        return
    if not isinstance(one, RandomEncoder | RememberingEncoder):
        raise BrokenLaw(
            f"{type(one).__name__} has no methods memory and recall: a crash that keeps the state, "
            "and a schedule, would lose what it remembers; without a memory, start returns "
            "StatelessEncoder(self, context.layout)"
        )
    *before, last = case.gradients
    for gradient in before:
        one.encode(gradient)
    if isinstance(one, RememberingEncoder) and isinstance(other, RememberingEncoder):
        kept = one.memory(slice(None))
        if any(vector.shape != (case.layout.size,) for vector in kept.vectors):
            raise BrokenLaw("memory returns a vector without an entry for each parameter")
        other.recall(slice(None), Memory(tuple(v.copy() for v in kept.vectors), kept.updates))
        _check_parts(one, codec, case)
    own, new = _stream(one), _stream(other)
    if own is not None and new is not None:
        new.bit_generator.state = own.bit_generator.state
    if _bytes(one.encode(last)) != _bytes(other.encode(last)):
        raise BrokenLaw("after memory and recall, the frames differ from those without a crash")


def segmented(codec: Codec, case: Case) -> None:
    """A codec encodes by segments of layers, or says in `no_segments` why it cannot."""
    if uncuttable(codec):
        return
    pieces, layers = SegmentEncoder(codec, case.context), len(case.layout.layers)
    cuts = [[(1, layers)], [(layer, layer) for layer in range(layers, 0, -1)]]
    for number, gradient in enumerate(case.gradients):
        for segment in cuts[number % 2]:
            frames = pieces.encode(segment, gradient[case.layout.place(segment)])
            part = case.layout.part(segment)
            check_gradient(codec.decode(frames, part), part)


def carried(codec: Codec, case: Case) -> None:
    """The fields of the codec are numbers, words or truth values, which containers can be told."""
    try:
        json.dumps(plain(codec), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BrokenLaw(f"a field is none of these: {error}") from error


# -- what the laws use -------------------------------------------------------------------------


def _lies(frames: Frames, case: Case) -> Iterator[tuple[list[bytes], bool]]:
    """Yield lists of frames like `frames`, each with whether no encoder can have made it."""
    sent = _bytes(frames)
    yield [], True
    yield [*sent, b""], True
    yield [*sent, b"\0" * (4 * case.layout.size + SLACK)], True
    for number, frame in enumerate(sent):
        before, after = sent[:number], sent[number + 1 :]
        yield [*before, *after], True
        yield [*before, frame + bytes(8 * case.layout.size + SLACK), *after], True
        for changed in (frame[:-1], b"", frame + b"\0", frame + frame, frame[1:]):
            if changed != frame:
                yield [*before, changed, *after], False
        for at in sorted({0, 1, len(frame) // 2, len(frame) - 1} & set(range(len(frame)))):
            for byte in (0x00, 0x01, 0x7F, 0x80, 0xFF):
                yield [*before, frame[:at] + bytes([byte]) + frame[at + 1 :], *after], False
        yield [*before, b"\xff" * len(frame), *after], False
        yield [*before, np.full(len(frame) // 4 + 1, np.nan, "<f4").tobytes(), *after], False


def _check_direction(codec: Codec, case: Case) -> None:
    """Raise BrokenLaw if the first frames of an encoder decode to the way uphill."""
    started, gradient = codec.start(case.context), case.gradients[0]
    if _stream(started) is not None:
        return  # noise may outweigh the gradient
    found = codec.decode(started.encode(gradient), case.layout)
    check_gradient(found, case.layout)
    one, other = gradient.astype(float), _spread(found, case.layout).astype(float)
    if one @ other < -1e-6 * np.linalg.norm(one) * np.linalg.norm(other):
        raise BrokenLaw(f"decode returns {short(found.values)}, which points against the gradient")


def _check_parts(started: RememberingEncoder, codec: Codec, case: Case) -> None:
    """Raise BrokenLaw unless the memories of the layers are parts of the whole memory."""
    whole, other = started.memory(slice(None)).vectors, codec.start(case.context)
    assert isinstance(other, RememberingEncoder)
    for part in case.layout.layers:
        kept = started.memory(part)
        other.recall(part, Memory(tuple(v.copy() for v in kept.vectors), kept.updates))
    whole_again = other.memory(slice(None)).vectors
    if [v.tobytes() for v in whole] != [v.tobytes() for v in whole_again]:
        raise BrokenLaw("memory and recall of each layer do not make the memory of the whole model")


def check_gradient(found: Gradient, layout: Layout, by: str = "decode") -> None:
    """Raise BrokenLaw unless `found`, returned by the method `by`, is a gradient of `layout`."""
    if not isinstance(found, Gradient):
        raise BrokenLaw(f"{by} returns {kind_of(found)}: a Gradient was expected")
    values, indices = found.values, found.indices
    if not isinstance(values, np.ndarray) or values.dtype != _F or values.ndim != 1:
        raise BrokenLaw(f"{by} returns values that are not one vector of float32")
    if not np.isfinite(values).all():
        raise BrokenLaw(f"{by} returns values that are not finite: {short(values)}")
    if indices is None:
        if values.size != layout.size:
            raise BrokenLaw(f"{by} returns {values.size} values for {layout.size} parameters")
        return
    if indices.dtype != np.uint32 or indices.shape != values.shape:
        raise BrokenLaw(f"{by} returns indices that are not one uint32 for each value")
    if indices.size and int(indices.max()) >= layout.size:
        raise BrokenLaw(f"{by} returns index {indices.max()} of {layout.size} parameters")
    if (np.diff(indices.astype(np.int64)) <= 0).any():
        raise BrokenLaw(f"{by} returns indices that do not ascend")


def kind_of(value: object) -> str:
    """Return the type of `value` in words."""
    return "None" if value is None else f"a {type(value).__name__}"


def _sent(started: Encoder, case: Case) -> Iterator[Frames]:
    """Yield the frames of the gradients of `case`."""
    for gradient in case.gradients:
        frames = started.encode(gradient)
        for frame in frames:
            if not isinstance(frame, bytes | memoryview):
                raise BrokenLaw(f"encode returns a {type(frame).__name__}: frames are bytes")
        yield frames


def _stream(started: Encoder) -> np.random.Generator | None:
    found = getattr(started, "rng", None)
    return found if isinstance(found, np.random.Generator) else None


def _spread(gradient: Gradient, layout: Layout) -> Vector:
    """Return `gradient` with zeros for the missing entries."""
    if gradient.indices is None:
        return gradient.values
    whole = np.zeros(layout.size, _F)
    whole[gradient.indices] = gradient.values
    return whole


def _bytes(frames: Sequence[Buffer]) -> list[bytes]:
    return [bytes(frame) for frame in frames]


def _hex(frames: Sequence[Buffer]) -> str:
    texts = (bytes(frame[:8]).hex() + ("…" if len(frame) > 8 else "") for frame in frames)
    return f"[{', '.join(text or 'empty' for text in texts)}]"


def short(vector: Vector) -> str:
    more = ", …" if vector.size > 8 else ""
    return f"[{', '.join(f'{value:g}' for value in vector[:8].tolist())}{more}]"


def named(error: BaseException) -> str:
    """Return the type, the message and the place of `error`."""
    *_, last = traceback.extract_tb(error.__traceback__)
    said = f": {error}" if str(error) else ""
    return f"{type(error).__name__}{said} ({last.filename.rpartition('/')[2]}:{last.lineno})"
