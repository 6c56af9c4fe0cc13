"""Pieces of updates that arrived before their update is complete, by device.

A device that pulled in segments may push in segments, the last layers first. The server decodes and
checks each piece on arrival, and applies the update once the piece with layer 1 has arrived. Pieces
never overlap, so the staged pieces of a device take at most the memory of an update.

A refused piece has one of two effects. The ticket of another pull proves nothing about the staged
pieces, and they stay. A piece with the ticket of the present pull that breaks the order, repeats or
overlaps a staged piece, or does not decode, proves that the update cannot become complete: the
staged pieces are dropped, and the device may begin again with the last layer.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from ...codecs.base import Codec
from ...errors import WireError
from ...layout import Layout
from ...plugins.stateful import Held, Stateful
from ...vectors import Gradient, Indices
from ..wire.messages import Times, UpdateSegment
from .ledger import Arrival

Parts: TypeAlias = Sequence[tuple[slice, Gradient]]
"""Slice of the flat vector and gradient of each segment of a model, the last layers first."""


class _Exchange(Held, msgspec.Struct):
    """An answered pull, and the pieces of the update that the device computes on the model."""

    ticket: int
    pieces: list[UpdateSegment] = msgspec.field(default_factory=list)
    decoded: list[tuple[slice, Gradient]] = msgspec.field(default_factory=list)
    """The slice of the flat vector and the gradient of each of `pieces`."""
    arrived: list[float] = msgspec.field(default_factory=list)

    def drop(self) -> None:
        """Forget the pieces."""
        self.pieces, self.decoded, self.arrived = [], [], []


class Staging(Stateful):
    """Collects pieces into updates. Devices that pull whole models cost no memory."""

    STATE = ("_exchanges",)

    def __init__(self, codec: Codec, layout: Layout) -> None:
        """`codec` decodes each piece as an update of a model that has the piece's layers alone."""
        self._codec, self._layout = codec, layout
        self._join = joiner(codec)
        self._exchanges: dict[str, _Exchange] = {}  # by node

    def begin(self, node: str, ticket: int, now: float) -> Times:
        """Expect pieces of an update for the pull `ticket` of `node`, answered at `now`.

        Return the times for the answer: `now`, and the arrivals of the device's last update.
        """
        before = self._exchanges.get(node)
        self._exchanges[node] = _Exchange(ticket)
        return Times(now, tuple(before.arrived) if before else ())

    def interrupt(self, node: str) -> None:
        """Drop the pieces of an incomplete update of `node`; keep the times of a complete one."""
        exchange = self._exchanges.get(node)
        if exchange and exchange.pieces:
            exchange.drop()

    def forget(self, node: str) -> None:
        """Drop the pieces of `node`, and refuse more before the next pull in segments."""
        self._exchanges.pop(node, None)

    def clear(self) -> None:
        """Drop all pieces: the run ends."""
        self._exchanges.clear()

    def whole(self, node: str, now: float) -> None:
        """Note that a whole update of `node` arrived at `now`; drop the pieces of `node`."""
        if exchange := self._exchanges.get(node):
            exchange.drop()
            exchange.arrived = [now]

    def add(self, piece: UpdateSegment, now: float) -> Arrival | None:
        """Stage `piece`; return the whole update if `piece` is the last, None otherwise.

        Raises WireError to refuse `piece`.
        """
        exchange = self._exchanges.get(piece.node)
        if exchange is None or piece.ticket != exchange.ticket:
            last = exchange.ticket if exchange else None
            raise WireError(f"a piece for pull {piece.ticket}, but {last} was answered last")
        try:
            gradient = self._decoded(exchange, piece)
        except WireError:
            exchange.drop()
            raise
        if not exchange.pieces:
            exchange.arrived = []
        exchange.pieces.append(piece)
        exchange.decoded.append((self._layout.place(piece.segment), gradient))
        exchange.arrived.append(now)
        if piece.segment[0] > 1:
            return None
        *earlier, last_piece = exchange.pieces
        arrival = Arrival(last_piece, self._join(exchange.decoded), tuple(earlier))
        exchange.pieces, exchange.decoded = [], []
        return arrival

    def _decoded(self, exchange: _Exchange, piece: UpdateSegment) -> Gradient:
        """Return the gradient in `piece`, which must end before the layers that have arrived."""
        layers = len(self._layout.layers)
        expected = exchange.pieces[-1].segment[0] - 1 if exchange.pieces else layers
        first, last = piece.segment
        if last != expected or not 1 <= first <= last:
            raise WireError(f"layers {first} to {last}, expected layers up to {expected}")
        return self._codec.decode(piece.frames, self._layout.part(piece.segment))


def joiner(codec: Codec) -> Callable[[Parts], Gradient]:
    """Return the function that joins decoded segments, as `merged` does.

    A codec with made-up gradients joins them without copies of large models.
    """
    join: Callable[[Parts], Gradient] = getattr(codec, "joined", merged)
    return join


def merged(parts: Parts) -> Gradient:
    """Join the gradients of the segments of a model, given from the last layers to the first.

    Each of `parts` is a segment's slice of the flat vector and a gradient whose indices count from
    the start of the slice. The result is dense if all parts are; otherwise its indices ascend.
    """
    ascending = parts[::-1]
    values = np.concatenate([gradient.values for _, gradient in ascending])
    if all(gradient.indices is None for _, gradient in ascending):
        return Gradient(values)
    return Gradient(values, np.concatenate([_indices(*part) for part in ascending]))


def _indices(place: slice, gradient: Gradient) -> Indices:
    """Return the indices of a segment's `gradient` in the flat vector of the whole model."""
    if gradient.indices is None:
        return np.arange(place.start, place.stop, dtype=np.uint32)
    return gradient.indices + np.uint32(place.start)
