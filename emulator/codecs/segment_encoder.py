"""Encoding by segment: each run of layers has its own frames, and memory outlives the segments.

A piece of an update travels while the gradients of the layers before it are still computed. A
schedule may cut the next update elsewhere, so a memory belongs to layers: the encoder of a new
segment takes over the memory of its layers from the encoders that had them.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..layout import Layout, Segment
from ..vectors import Frames, Vector
from .base import Codec, Draws, Encoder, EncoderContext, RememberingEncoder
from .feedback import RandomEncoder, StatelessEncoder, encoder


def uncuttable(codec: Codec) -> str:
    """Return why `codec` cannot encode by segment (its `no_segments`); empty if it can."""
    reason: str = getattr(codec, "no_segments", "")
    return reason


@dataclass(frozen=True, eq=False, slots=True)
class _Piece:
    """The encoder of one segment; the layers may have moved on to another piece since."""

    segment: Segment
    encoder: Encoder


class SegmentEncoder:
    """Encodes gradients by segment for one worker; the server decodes with the segment's layout.

    For a codec that treats each variable on its own, the decoded values are those of the whole
    gradient's frames, bit for bit, whichever the segments are, and the same holds for the memory.
    A refused piece leaves the memory of its layers unchanged; the memory of the pieces before it
    counts them as sent, as it counts an update that is lost on its way.
    """

    def __init__(self, codec: Codec, context: EncoderContext, error_feedback: bool = False) -> None:
        """Encode with `codec` for the worker of `context`, with error feedback if asked for.

        Raises ValueError if the codec cannot be cut, or if error feedback cannot go around it.
        """
        if reason := uncuttable(codec):
            raise ValueError(f"this codec cannot encode by segment: {reason}")
        self._codec, self._context, self._error_feedback = codec, context, error_feedback
        self._draws = UpdateDraws(context.rng, context.layout)
        # the piece that has the memory of each layer; None: the layer has not been encoded yet
        self._pieces: list[_Piece | None] = [None] * len(context.layout.layers)
        self.stateless = isinstance(self._start((1, 1)), StatelessEncoder)
        """Whether the frames depend on the gradient alone, not on updates before it or draws."""

    def encode(self, segment: Segment, gradient: Vector) -> Frames:
        """Return the frames of `gradient`, the flat float32 gradient of the layers of `segment`.

        The segments of an update come last layers first. Raises NotFinite for a NaN or an infinity,
        ValueError for a gradient that does not fit the segment, or a segment that does not fit the
        model.
        """
        first, last = segment
        if not 1 <= first <= last <= len(self._pieces):
            raise ValueError(f"there is no segment {segment} among {len(self._pieces)} layers")
        pieces = self._pieces[first - 1 : last]
        piece = pieces[0]
        if piece is None or piece.segment != segment or any(item is not piece for item in pieces):
            piece = self._cut(segment)
        return piece.encoder.encode(gradient)

    def _cut(self, segment: Segment) -> _Piece:
        """Return a new piece for `segment`, with the memory of its layers."""
        first, last = segment
        piece = _Piece(segment, self._start(segment))
        if isinstance(piece.encoder, RememberingEncoder):
            for layer in range(first, last + 1):
                self._move(layer, piece.encoder, segment)
        self._pieces[first - 1 : last] = [piece] * (last - first + 1)
        return piece

    def _move(self, layer: int, new: RememberingEncoder, segment: Segment) -> None:
        """Copy the memory of `layer`, if it has any, to the `new` encoder of `segment`."""
        piece = self._pieces[layer - 1]
        if piece is None:
            return
        assert isinstance(piece.encoder, RememberingEncoder)  # all pieces are of one codec
        memory = piece.encoder.memory(self._within(layer, piece.segment))
        new.recall(self._within(layer, segment), memory)

    def _within(self, layer: int, segment: Segment) -> slice:
        """Return the slice of `layer` in the flat vector of `segment`."""
        layout = self._context.layout
        start, part = layout.place(segment).start, layout.place((layer, layer))
        return slice(part.start - start, part.stop - start)

    def _start(self, segment: Segment) -> Encoder:
        """Return a new encoder of `segment`. Raises TypeError if no memory can be taken from it."""
        part, draws = self._context.layout.part(segment), self._draws.segment(segment)
        context = replace(self._context, layout=part, rng=draws)
        started = encoder(self._codec, context, self._error_feedback)
        if not isinstance(started, StatelessEncoder | RandomEncoder | RememberingEncoder):
            raise TypeError(f"{type(started).__name__} lacks the methods memory and recall")
        return started


class UpdateDraws:
    """The random numbers of an update, drawn for all parameters at once.

    Each segment takes its slice, so a parameter's number does not depend on the segments. An update
    begins with the segment that holds the last layer.
    """

    def __init__(self, draws: Draws, layout: Layout) -> None:
        """Draw from `draws`, the worker's generator, for a model of `layout`."""
        self._draws, self._layout = draws, layout
        self._numbers: Vector | None = None

    def segment(self, segment: Segment) -> "SegmentDraws":
        """Return the source of random numbers for the gradients of `segment`."""
        return SegmentDraws(self, self._draws, self._layout, segment)

    def take(self, segment: Segment) -> Vector:
        """Return the numbers of `segment`, read-only; draw for the whole update if it begins."""
        first, last = segment
        if last == len(self._layout.layers) or self._numbers is None:
            self._numbers = self._draws.random(self._layout.size, np.float32)
            self._numbers.flags.writeable = False
        numbers = self._numbers[self._layout.place(segment)]
        if first == 1:  # the last piece of the update: hold no memory until the next update
            self._numbers = None
        return numbers


class SegmentDraws:
    """A segment's share of a worker's random numbers."""

    def __init__(self, update: UpdateDraws, draws: Draws, layout: Layout, segment: Segment) -> None:
        """Take uniform numbers from `update`, and random bytes from `draws`."""
        self._update, self._draws, self._segment = update, draws, segment
        self._size = layout.part(segment).size

    def random(self, size: int, dtype: type[np.float32]) -> Vector:
        """Return the segment's numbers. Raises ValueError for another `size` or `dtype`."""
        if size != self._size or dtype is not np.float32:
            raise ValueError(f"a segment draws {self._size} float32, not {size} {dtype.__name__}")
        return self._update.take(self._segment)

    def bytes(self, length: int, /) -> bytes:
        """Return bytes of the worker's generator: each segment has bytes of its own."""
        return self._draws.bytes(length)
