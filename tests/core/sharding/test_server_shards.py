"""The cut of a model's layers over servers, and the servers that messages are for."""

from itertools import combinations, pairwise
from random import Random

import pytest

from emulator.core.sharding.server_shards import LEADER, ServerShards, balanced_shards
from emulator.core.wire.messages import (
    Diverged,
    Hello,
    Leave,
    ModelSegment,
    PatchSegment,
    Pull,
    UpdateSegment,
)
from emulator.layout import Layout, Variable
from emulator.learning.models import MODELS


def layout(sizes: list[int]) -> Layout:
    """Return layers of these `sizes`, each of a weight and a bias of one number."""
    return Layout(
        tuple(
            variable
            for n, size in enumerate(sizes)
            for variable in (
                Variable(f"w{n}", (size - 1,), "dense", n),
                Variable(f"b{n}", (1,), "bias", n),
            )
        )
    )


def largest(sizes: list[int], starts: tuple[int, ...]) -> int:
    return max(sum(sizes[a:b]) for a, b in pairwise((0, *starts, len(sizes))))


@pytest.mark.parametrize("seed", range(40))
def test_shards_are_disjoint_in_order_cover_all_and_are_as_even_as_can_be(seed: int) -> None:
    dice = Random(seed)
    sizes = [dice.choice([2, 3, 10, 1000]) + dice.randint(0, 9) for _ in range(dice.randint(1, 9))]
    model = layout(sizes)
    for count in range(1, len(sizes) + 1):
        shards = balanced_shards(model, count)
        assert len(shards) == count
        layers = [n for first, last in shards.segments for n in range(first, last + 1)]
        assert layers == [*range(1, len(sizes) + 1)]
        assert all(first <= last for first, last in shards.segments)
        places = [model.place(segment) for segment in shards.segments]
        assert places[0].start == 0
        assert places[-1].stop == model.size
        assert all(a.stop == b.start for a, b in pairwise(places))
        every_cut = combinations(range(1, len(sizes)), count - 1)
        found = max(place.stop - place.start for place in places)
        assert found == min(largest(sizes, starts) for starts in every_cut)


def test_the_shipped_models_are_cut_between_their_layers() -> None:
    segments = {
        name: balanced_shards(MODELS[name].layout, 4).segments
        for name in ("mnist-cnn", "mnist-vgg")
    }
    assert segments["mnist-cnn"] == ((1, 1), (2, 2), (3, 3), (4, 4))
    assert segments["mnist-vgg"] == ((1, 7), (8, 8), (9, 9), (10, 11))


@pytest.mark.parametrize("count", [0, 3])
def test_each_shard_needs_a_layer(count: int) -> None:
    with pytest.raises(ValueError, match=f"2 layers cannot be cut into {count} shards"):
        balanced_shards(layout([4, 4]), count)


def test_pulls_and_goodbyes_are_for_all_shards_a_part_for_one_all_else_for_the_leader() -> None:
    shards = ServerShards([(1, 2), (3, 3), (4, 6)])
    assert [*shards.receivers(Pull("a", 1, segments=shards.segments))] == [0, 1, 2]
    assert [*shards.receivers(UpdateSegment("a", 0, 1, (3, 3), 0.0, 0.0, []))] == [1]
    assert [*shards.receivers(Leave("a"))] == [0, 1, 2]
    for request in (Hello("a", 0), Diverged("a", 0), Pull("evaluator", 1)):
        assert [*shards.receivers(request)] == [LEADER]
    assert shards.sender(PatchSegment(1, 0, (4, 6), None, [])) == 2
    assert shards.sender(ModelSegment(1, 0, (1, 2), None)) == LEADER  # type: ignore[arg-type]
