"""The shards of the server: consecutive layers of the model, on a server each.

A device pulls and pushes a part at each shard. All shards count the same versions. The first shard
leads: it takes a pull once every shard has it, and an update once every shard has its part of the
update, and decides in which order updates make steps. The others answer pulls and make steps in
the order that the leader tells them. The reasons:

* An update is applied by all shards or by none, also if its device dies between two parts. So
  barriers, groups and durability need no rule of their own for half an update.
* Every model that is pulled is of one version, as with one server: a gradient is never computed on
  layers of two versions, and staleness means the same at every shard. The skew between the versions
  of a pulled model is 0 by construction. What differs between shards is time: an update waits for
  its slowest part. That wait is on record.
* A version is a consistent cut of the model: the evaluator measures the same model as with one
  server.

Shards that apply the parts as they come would wait for no slower shard, and need no leader. But the
versions in a pulled model would differ without a bound, half updates would stay in the model, and
no moment need exist at which all shards have the same updates.
"""

from collections.abc import Sequence
from itertools import accumulate

from ...layout import Layout, Segment
from ..wire.messages import (
    Leave,
    ModelSegment,
    PatchSegment,
    Pull,
    Reply,
    Request,
    UpdateSegment,
)

LEADER = 0
"""Number of the shard that leads."""


class ServerShards:
    """The layers of each shard, and the shards that a message is for."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = tuple(segments)
        """Layers of each shard, in the order of the layers."""
        self._number = {segment: number for number, segment in enumerate(self.segments)}

    def __len__(self) -> int:
        return len(self.segments)

    def shares(self, layout: Layout) -> list[float]:
        """Return the share of the parameters of `layout` that each shard holds."""
        return [layout.part(segment).size / layout.size for segment in self.segments]

    def receivers(self, request: Request) -> Sequence[int]:
        """Return the shards to which a device sends `request`: all of them a pull and a goodbye,
        its own a part of an update, the leader all else."""
        match request:
            case Pull() | Leave() if is_for_all(request):
                return range(len(self.segments))
            case UpdateSegment(segment=segment):
                return (self.number(segment),)
        return (LEADER,)

    def sender(self, reply: Reply) -> int:
        """Return the shard that sends `reply`."""
        match reply:
            case ModelSegment(segment=segment) | PatchSegment(segment=segment):
                return self.number(segment)
        return LEADER

    def number(self, segment: Segment) -> int:
        """Return the number of the shard with the layers of `segment`; the leader's without one."""
        return self._number.get(segment, LEADER)


def is_for_all(request: Request) -> bool:
    """Return whether a device sends `request` to every shard, so that it comes behind the parts of
    an update everywhere. The evaluator pulls from the leader alone."""
    return isinstance(request, Leave) or (isinstance(request, Pull) and bool(request.segments))


def balanced_shards(layout: Layout, count: int) -> ServerShards:
    """Cut the layers of `layout` into `count` runs, the largest of which is as small as can be.

    No cut goes through a layer. Raises ValueError unless each shard gets a layer.
    """
    sizes = [place.stop - place.start for place in layout.layers]
    if not 1 <= count <= len(sizes):
        raise ValueError(f"{len(sizes)} layers cannot be cut into {count} shards")
    # the capacities worth a try are sums of consecutive layers; bisection finds the least that does
    low, high = max(sizes), sum(sizes)
    while low < high:
        middle = (low + high) // 2
        if len(_filled(sizes, middle)) <= count:
            high = middle
        else:
            low = middle + 1
    counts = _filled(sizes, low, count)
    ends = list(accumulate(counts))
    return ServerShards([(end - own + 1, end) for own, end in zip(counts, ends, strict=True)])


def _filled(sizes: Sequence[int], capacity: int, least: int = 1) -> list[int]:
    """Return the layers of each run, each filled up to `capacity` parameters from the first layer
    on; at least `least` runs, as each leaves a layer for every run that has to come."""
    counts: list[int] = []
    held = 0
    for index, size in enumerate(sizes):
        left = len(sizes) - index  # layers from this one on
        if counts and held + size <= capacity and left > least - len(counts):
            counts[-1] += 1
            held += size
        else:
            counts.append(1)
            held = size
    return counts
