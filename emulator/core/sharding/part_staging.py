"""Parts of pulls and of updates that arrived at some shards of the server, and not yet at all.

The shards have a connection each with a device, so parts arrive in any order.
"""

import msgspec

from ...codecs.base import Codec
from ...errors import WireError
from ...layout import Layout
from ...plugins.stateful import Held, Stateful
from ...vectors import Gradient
from ..server.ledger import Arrival
from ..server.staging import joiner
from ..wire.messages import Leave, Pull, Request, UpdateSegment
from .server_shards import ServerShards, is_for_all


class _Part(Held, msgspec.Struct, frozen=True, eq=False):
    """A decoded part of an update."""

    piece: UpdateSegment
    gradient: Gradient
    arrived: float


class PartStaging(Stateful):
    """Collects the parts of updates: a `Staging` for a server with shards.

    A refused part with the ticket of the present pull proves that the update cannot become
    complete: the other parts are dropped. Parts of other pulls prove nothing.
    """

    STATE = ("_tickets", "_parts")

    def __init__(self, codec: Codec, layout: Layout, shards: ServerShards) -> None:
        """`codec` decodes each part as an update of a model that has the shard's layers alone."""
        self._codec, self._layout, self._shards = codec, layout, shards
        self._join = joiner(codec)
        self._tickets: dict[str, int] = {}  # of the answered pull, by node
        self._parts: dict[str, dict[int, _Part]] = {}  # by node and shard, of incomplete updates

    def begin(self, node: str, ticket: int, now: float) -> None:
        """Expect the parts of an update for the pull `ticket` of `node`."""
        self._tickets[node] = ticket
        self._parts.pop(node, None)

    def interrupt(self, node: str) -> None:
        """Drop the parts of an incomplete update of `node`."""
        self._parts.pop(node, None)

    def forget(self, node: str) -> None:
        """Drop the parts of `node`, and refuse more before its next pull."""
        self._tickets.pop(node, None)
        self._parts.pop(node, None)

    def clear(self) -> None:
        """Drop all parts: the run ends."""
        self._tickets.clear()
        self._parts.clear()

    def whole(self, node: str, now: float) -> None:
        """Refuse a whole update of `node`."""
        raise WireError("an update in one message, and every shard of the server takes its part")

    def add(self, piece: UpdateSegment, now: float) -> Arrival | None:
        """Keep `piece`; return the update once every shard has its part, None before.

        Raises WireError to refuse `piece`.
        """
        node, last = piece.node, self._tickets.get(piece.node)
        if piece.ticket != last:
            raise WireError(f"a part for pull {piece.ticket}, but {last} was answered last")
        parts = self._parts.setdefault(node, {})
        try:
            gradient = self._decoded(piece, parts)
        except WireError:
            del self._parts[node]
            raise
        number = self._shards.number(piece.segment)
        parts[number] = _Part(piece, gradient, now)
        if len(parts) < len(self._shards):
            return None
        del self._parts[node]
        return self._whole(parts)

    def _decoded(self, piece: UpdateSegment, parts: dict[int, _Part]) -> Gradient:
        """Return the gradient in `piece`, which must be the part of a shard that has none yet."""
        first, last = piece.segment
        if piece.segment not in self._shards.segments:
            raise WireError(f"layers {first} to {last} are the part of no shard")
        if self._shards.number(piece.segment) in parts:
            raise WireError(f"a second part with layers {first} to {last}")
        return self._codec.decode(piece.frames, self._layout.part(piece.segment))

    def _whole(self, parts: dict[int, _Part]) -> Arrival:
        """Return the update that the `parts` of all shards are together."""
        ordered = [parts[number] for number in reversed(range(len(parts)))]  # last layers first
        places = [(self._layout.place(part.piece.segment), part.gradient) for part in ordered]
        times = [part.arrived for part in ordered]
        *earlier, last = (part.piece for part in ordered)
        skew = max(times) - min(times)
        return Arrival(last, self._join(places), tuple(earlier), skew)


class GatheredRequests(Stateful):
    """Holds pulls and goodbyes until they have arrived at all shards."""

    STATE = ("_asked", "_leaving")

    def __init__(self, shards: ServerShards) -> None:
        self._shards = shards
        self._asked: dict[str, tuple[int, set[int]]] = {}  # ticket and shards, by node
        self._leaving: dict[str, set[int]] = {}  # shards by node

    def complete(self, request: Request, shard: int) -> bool:
        """Note that `request` has come to `shard`; return whether it is to be taken now: every
        shard that it is for has it."""
        match request:
            case Leave(node):
                arrived = self._leaving.setdefault(node, set())
                arrived.add(shard)
                if len(arrived) == len(self._shards):
                    del self._leaving[node]
                    return True
                return False
            case Pull() if is_for_all(request):
                return self._pulled(request, shard)
        return True

    def _pulled(self, pull: Pull, shard: int) -> bool:
        ticket, arrived = self._asked.get(pull.node, (-1, set()))
        if pull.ticket < ticket:
            return False  # of an earlier life, or given up
        if pull.ticket > ticket:
            arrived = set()
        arrived.add(shard)
        if len(arrived) < len(self._shards):
            self._asked[pull.node] = pull.ticket, arrived
            return False
        self._asked.pop(pull.node, None)
        self._leaving.pop(pull.node, None)  # a goodbye that some shards never had
        return True
