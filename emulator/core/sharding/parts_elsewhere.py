"""Parts of updates that followers have, as the leader knows them: by number and size."""

import weakref
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ...codecs.base import ByteCount, DecodedFrames
from ...layout import Kind
from ...plugins.stateful import Held
from ...vectors import Gradient, Vector
from .server_shards import LEADER, ServerShards
from .shard_orders import DropParts, KeepParts, News, Order, PartCame, Result


class FollowerConnections(Protocol):
    """The connections of the leader with the followers, numbered as the shards from 1."""

    def tell(self, shard: int, order: Order) -> None:
        """Send `order` to `shard`."""

    def result(self, shard: int) -> Result:
        """Wait for the result of the order of `shard` that was sent last. News that come before it
        stay for `news`."""

    def waiting(self) -> bool:
        """Return whether `news` has any."""

    def news(self) -> Iterable[tuple[int, News]]:
        """Yield what has come by itself until now, each with the shard."""

    def returned(self) -> Iterable[int]:
        """Return the shards that have begun, or come back, since the last call."""

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any]) -> None: ...


class PartElsewhere(Gradient):
    """A part of an update that a follower has; its values here are zeros without memory."""

    def __init__(
        self, shard: int, number: int, entries: int, paper: Mapping[Kind, float] | None
    ) -> None:
        super().__init__(zeros(entries))
        self.shard: int
        self.number: int
        self.paper: Mapping[Kind, float] | None
        for name, value in (("shard", shard), ("number", number), ("paper", paper)):
            object.__setattr__(self, name, value)  # gradients are frozen


class ScatteredGradient(Gradient):
    """An update over all shards: the leader's part, and those elsewhere, in the order of shards."""

    def __init__(self, parts: Sequence[Gradient]) -> None:
        super().__init__(zeros(sum(part.values.size for part in parts)))
        self.parts: tuple[Gradient, ...]
        object.__setattr__(self, "parts", tuple(parts))

    @property
    def own(self) -> Gradient:
        """The leader's part."""
        return self.parts[LEADER]

    @property
    def elsewhere(self) -> list[PartElsewhere]:
        """The followers' parts."""
        return [part for part in self.parts if isinstance(part, PartElsewhere)]


class ReportedFrames(DecodedFrames):
    """Frames that a follower has received: only their lengths, and their `count`, are known."""

    counted: ByteCount

    @classmethod
    def of(cls, lengths: Iterable[int], counted: Iterable[int] = (0, 0, 0)) -> "ReportedFrames":
        """Return frames of these `lengths`, which take no memory."""
        frames = cls(np.broadcast_to(np.uint8(0), (length,)).data for length in lengths)
        frames.counted = ByteCount(*counted)
        return frames


class Followers:
    """The shards that follow, as the leader's parts see them."""

    def __init__(self, connections: FollowerConnections, shards: ServerShards) -> None:
        self._connections = connections
        self._numbers = range(LEADER + 1, len(shards))
        self._held = {number: Counter[int]() for number in self._numbers}  # parts, by their numbers
        self._known = dict.fromkeys(self._numbers, 0)  # number of the last part that came
        # parts to which nothing refers any more; other threads may drop the last reference
        self._gone: deque[tuple[int, int]] = deque()

    def __len__(self) -> int:
        return len(self._numbers)

    def elsewhere(self, shard: int, came: PartCame) -> PartElsewhere:
        """Return the part that `came` to `shard`. Once nothing here refers to it, the shard is told
        to drop it: also if it was refused, or its update gave way to another one."""
        part = PartElsewhere(shard, came.number, came.entries, came.paper)  # type: ignore[arg-type]
        self._known[shard] = max(self._known[shard], came.number)
        self._hold(part)
        return part

    def _hold(self, part: PartElsewhere) -> None:
        self._held[part.shard][part.number] += 1
        weakref.finalize(part, self._gone.append, (part.shard, part.number))

    def begin(self, order: Order | Sequence[Order]) -> None:
        """Send `order` to all, or each of a sequence to its shard; `results` waits."""
        self.drop()
        each = order if isinstance(order, Sequence) else [order] * len(self._numbers)
        for number, own in zip(self._numbers, each, strict=True):
            self._connections.tell(number, own)

    def results(self) -> list[Result]:
        """Return the result of each shard for the order sent last."""
        return [self._connections.result(number) for number in self._numbers]

    def tell(self, order: Order) -> None:
        """Send an `order` that has no result to all."""
        self.begin(order)

    def drop(self) -> None:
        """Have the shards drop the parts that nothing here refers to any more."""
        dropped: dict[int, list[int]] = {}
        while self._gone:
            shard, number = self._gone.popleft()
            held = self._held[shard]
            held[number] -= 1  # a restored state may have a part twice
            if not held[number]:
                del held[number]
                dropped.setdefault(shard, []).append(number)
        for shard in self._connections.returned():
            dropped.pop(shard, None)
            kept = KeepParts(self._known[shard], sorted(self._held[shard]))
            self._connections.tell(shard, kept)
        for shard, numbers in dropped.items():
            self._connections.tell(shard, DropParts(numbers))

    def waiting(self) -> bool:
        """Return whether `news` has any."""
        return self._connections.waiting()

    def news(self) -> Iterable[tuple[int, News]]:
        """Yield what followers have reported by themselves until now, each with the shard."""
        return self._connections.news()

    def state(self) -> dict[str, Any]:
        """Return the state, as of a Stateful, but the parts: those are in the server's."""
        return {"known": dict(self._known), "connections": self._connections.state()}

    def restore(self, state: dict[str, Any], server: Any) -> None:
        """Go on from `state`; hold the parts in `server`, the server's state."""
        self._known = state["known"]
        self._connections.restore(state["connections"])
        for part in _parts_in(server):
            self._hold(part)


def _parts_in(state: Any) -> Iterator[PartElsewhere]:
    """Yield the parts at followers in `state`, plain data as `Stateful` has them."""
    match state:
        case PartElsewhere():
            yield state
        case ScatteredGradient():
            yield from state.elsewhere
        case dict():
            for value in state.values():
                yield from _parts_in(value)
        case list() | tuple() | set() | frozenset() | deque():
            for value in state:
                yield from _parts_in(value)
        case Held():
            for name in state.__struct_fields__:
                yield from _parts_in(getattr(state, name))


def zeros(size: int) -> Vector:
    """Return `size` zeros that take no memory, read-only."""
    return np.broadcast_to(np.float32(0), (size,))
