"""Parts of updates and pulls that come to the shards of a server in any order."""

from itertools import permutations

import numpy as np
import pytest

from emulator.codecs import Dense
from emulator.core.server.seen_pushes import SeenPushes
from emulator.core.sharding.part_staging import GatheredRequests, PartStaging
from emulator.core.sharding.server_shards import balanced_shards
from emulator.core.wire.messages import Diverged, Leave, Pull, UpdateSegment
from emulator.errors import WireError
from emulator.layout import Layout, Segment, Variable

LAYOUT = Layout(tuple(Variable(f"v{n}", (n + 2,), "dense", n) for n in range(4)))
SHARDS = balanced_shards(LAYOUT, 3)
VALUES = np.arange(LAYOUT.size, dtype=np.float32)


def part(segment: Segment, ticket: int = 7, values: np.ndarray = VALUES) -> UpdateSegment:
    frames = [values[LAYOUT.place(segment)].view(np.uint8).data]
    return UpdateSegment("a", 0, ticket, segment, 0.5, 0.25, frames)


def staging(ticket: int = 7) -> PartStaging:
    made = PartStaging(Dense(), LAYOUT, SHARDS)
    made.begin("a", ticket, 0.0)
    return made


@pytest.mark.parametrize("order", [*permutations(SHARDS.segments)])
def test_an_update_is_whole_once_every_shard_has_its_part(order: tuple[Segment, ...]) -> None:
    staged = staging()
    arrivals = [staged.add(part(segment), float(at)) for at, segment in enumerate(order, 3)]
    *before, arrival = arrivals
    assert before == [None, None]
    assert arrival is not None
    assert arrival.gradient.indices is None
    assert arrival.gradient.values.tolist() == VALUES.tolist()
    pieces = [*arrival.earlier, arrival.update]
    assert [piece.segment for piece in pieces] == [*SHARDS.segments[::-1]]
    assert arrival.skew == 2.0


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (part((1, 4)), "layers 1 to 4 are the part of no shard"),
        (part(SHARDS.segments[0]), "a second part with layers 1 to 2"),
        (part(SHARDS.segments[1], values=VALUES[:8]), "3 values for 4 parameters"),
    ],
)
def test_a_wrong_part_drops_the_others(refused: UpdateSegment, reason: str) -> None:
    staged = staging()
    staged.add(part(SHARDS.segments[0]), 0.0)
    with pytest.raises(WireError, match=reason):
        staged.add(refused, 1.0)
    assert [staged.add(part(segment), 2.0) for segment in SHARDS.segments[1:]] == [None, None]
    assert staged.add(part(SHARDS.segments[0]), 2.0) is not None


def test_a_part_for_another_pull_proves_nothing() -> None:
    staged = staging()
    staged.add(part(SHARDS.segments[0]), 0.0)
    with pytest.raises(WireError, match="a part for pull 6, but 7 was answered last"):
        staged.add(part(SHARDS.segments[1], ticket=6), 1.0)
    staged.add(part(SHARDS.segments[1]), 1.0)
    assert staged.add(part(SHARDS.segments[2]), 1.0) is not None


@pytest.mark.parametrize("lose", [PartStaging.interrupt, PartStaging.forget])
def test_a_device_that_dies_between_parts_has_pushed_nothing(lose) -> None:
    staged = staging()
    staged.add(part(SHARDS.segments[0]), 0.0)
    staged.add(part(SHARDS.segments[1]), 0.0)
    lose(staged, "a")
    staged.begin("a", 8, 1.0)
    assert staged.add(part(SHARDS.segments[2], ticket=8), 1.0) is None


def test_an_update_in_one_message_is_refused() -> None:
    with pytest.raises(WireError, match="every shard of the server takes its part"):
        staging().whole("a", 0.0)


def test_a_pull_is_taken_once_every_shard_has_it() -> None:
    asked = GatheredRequests(SHARDS)
    first, second = (Pull("a", ticket, segments=SHARDS.segments) for ticket in (1, 2))
    other = Pull("b", 1, segments=SHARDS.segments)
    assert not asked.complete(first, 2)
    assert not asked.complete(other, 2)
    assert not asked.complete(first, 2)  # a repetition
    assert not asked.complete(first, 0)
    assert not asked.complete(second, 1)  # the device has given the first up
    assert not asked.complete(first, 1)
    assert not asked.complete(second, 0)
    assert asked.complete(second, 2)
    assert not asked.complete(other, 0)
    assert asked.complete(other, 1)


def test_a_goodbye_is_taken_behind_the_parts_at_every_shard() -> None:
    gathered = GatheredRequests(SHARDS)
    assert [gathered.complete(Leave("a"), shard) for shard in (1, 0, 2)] == [False, False, True]
    assert not gathered.complete(Leave("a"), 0)
    asked = [gathered.complete(Pull("a", 5, segments=SHARDS.segments), shard) for shard in range(3)]
    assert asked == [False, False, True]
    # the device was not gone: the goodbye that two shards never had is forgotten
    assert [gathered.complete(Leave("a"), shard) for shard in (1, 2)] == [False, False]


def test_requests_for_one_shard_are_taken_at_once() -> None:
    gathered = GatheredRequests(SHARDS)
    for request in (Pull("evaluator", 1), Diverged("a", 0), part(SHARDS.segments[1])):
        assert gathered.complete(request, 0)


@pytest.mark.parametrize("order", [*permutations(SHARDS.segments)])
def test_a_part_repeats_itself_alone(order: tuple[Segment, ...]) -> None:
    """Also behind the part with layer 1, which ends an update in pieces."""
    seen = SeenPushes()
    assert [seen.repeats(part(segment)) for segment in order] == [False] * 3
    assert [seen.repeats(part(segment)) for segment in order] == [True] * 3
    assert not seen.repeats(part(order[0], ticket=8))
