"""A worker's coroutine that pulls and pushes a part at each shard of the server."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ...layout import Layout, Segment
from ...vectors import NotFinite
from ..sharding.server_shards import ServerShards
from ..wire.messages import Diverged, Pull, UpdateSegment
from .layered_worker import PieceEncoder, PulledSegment
from .worker import (
    Await,
    Compute,
    Computed,
    NodeCoroutine,
    Over,
    PulledModel,
    Tell,
    hello,
    tickets,
    unless_over,
)

PieceT = TypeVar("PieceT", bound=PulledSegment)
ModelT = TypeVar("ModelT", bound=PulledModel)
GradientT = TypeVar("GradientT")


def sharded_worker(
    node: str,
    incarnation: int,
    encoder: PieceEncoder[GradientT],
    shards: ServerShards,
    layout: Layout,
    timeout: float,
    kind: type[PieceT],
    joined: Callable[[Sequence[PieceT]], ModelT],
) -> NodeCoroutine[ModelT]:
    """Train a model of `layout`, which the `shards` hold, until the server says bye.

    The server has `timeout` seconds for each part. `kind` is the class of the replies that hold
    parts of models, of which `joined` makes the model, given one of each shard in the order of the
    layers. The parts may come in any order. `encoder` takes the gradients that come back from
    `Compute`, the last layers first; all parts are encoded before the first is sent.
    """
    sizes = {each: layout.part(each).size for each in shards.segments}
    try:
        yield from hello(node, incarnation, timeout)
        for ticket in tickets(incarnation):
            yield Tell(Pull(node, ticket, segments=shards.segments))
            parts: dict[Segment, PieceT] = {}
            # in this generator: in one of its own, a million waiting devices need half as much more
            while len(parts) < len(sizes):
                answer = unless_over((yield Await(timeout)))
                if answer is None:
                    break
                if isinstance(answer, kind) and answer.ticket == ticket:
                    if answer.size != sizes.get(answer.segment):
                        break
                    parts[answer.segment] = answer
            del answer
            # a gradient is never computed on layers of two versions
            if len(parts) < len(sizes) or len({part.version for part in parts.values()}) > 1:
                continue
            model = joined([parts[segment] for segment in shards.segments])
            del parts
            version = model.version
            computed: Computed[GradientT] = yield Compute(model)
            del model  # or each device that waits for the next model would keep this one alive
            try:
                encoded = [
                    (segment, encoder.encode(segment, computed.gradient))
                    for segment in reversed(shards.segments)
                ]
            except NotFinite:
                yield Tell(Diverged(node, version))
                continue
            loss, seconds = computed.loss, computed.seconds
            del computed
            for segment, frames in encoded:
                yield Tell(UpdateSegment(node, version, ticket, segment, loss, seconds, frames))
            del encoded, frames
    except Over:
        return
