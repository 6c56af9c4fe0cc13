"""The server's evaluations: measured versions, their records, and the versions left out."""

from unittest.mock import patch

import pytest

from emulator.core.server import evaluations
from emulator.core.server.parameter_server import ENDING
from emulator.core.wire.messages import Score
from emulator.errors import WireError
from emulator.world.stop_conditions import Stop
from tests.fakes.core.server_world import LAYOUT, World


def pushed(world: World, updates: int, since: float = 110.0) -> None:
    """Apply `updates` updates, a second apart."""
    for number in range(updates):
        world.round("abc"[number % 3], since + number)


def begun(**options) -> World:
    """A run that began at 105, with an evaluator that is busy with version 0."""
    world = World(**{"every": 2, **options})
    world.begin(now=105.0)
    ((_, model),) = world.pull("evaluator")
    assert model.version == 0
    return world


def measured(world: World, now: float) -> int | None:
    """The version that the evaluator gets and scores now; None if nothing is to be measured."""
    replies = [(node, model) for node, model in world.pull("evaluator", now) if node == "evaluator"]
    if not replies:
        return None
    ((_, model),) = replies
    world.score(model.version, now)
    return model.version


@pytest.fixture
def two_fit():
    with patch.object(evaluations, "HELD", 2 * 4 * LAYOUT.size):
        yield


def test_a_score_is_booked_at_its_version() -> None:
    world = begun()
    pushed(world, 5)
    world.score(0, 130.0)
    assert measured(world, 133.5) == 2
    item = sum(
        world.said("update")[0][kind] for kind in ("values", "indices", "headers", "framing")
    )
    first, second = world.said("evaluation")
    assert (first["at"], first["push_bytes"], first["scored"]) == (0.0, 0, 25.0)
    assert (second["at"], second["push_bytes"], second["scored"]) == (6.0, 2 * item, 28.5)
    assert (second["version"], second["updates"]) == (2, 2)


def test_a_repeated_score_counts_once_and_only_if_it_was_taken() -> None:
    world = begun()
    pushed(world, 3)
    world.score(0, 130.0)
    world.score(0, 131.0)  # as after a broken connection
    assert len(world.said("evaluation")) == 1
    with pytest.raises(WireError, match="cannot know 8"):
        world.score(8, 132.0)  # of a model that the server has lost
    assert measured(world, 133.5) == 2
    with pytest.raises(WireError, match="is not the evaluator"):
        world.server.receive(Score("a", 2, 0.9, 0.1), 134.0)


def test_a_score_that_comes_at_once_needs_no_second_time() -> None:
    world = World(every=1)
    world.begin(now=105.0)
    assert measured(world, 105.0) == 0
    world.pull("evaluator", after=1)
    world.round("a", 111.0)
    world.score(1, 111.0)
    assert [record["at"] for record in world.said("evaluation")] == [0.0, 6.0]
    assert not any("scored" in record for record in world.said("evaluation"))


def test_a_slow_evaluator_gets_each_version_in_turn() -> None:
    world = begun()
    pushed(world, 7)
    world.score(0, 130.0)
    assert [measured(world, 140.0 + n) for n in range(3)] == [2, 4, 6]
    assert measured(world, 150.0) is None
    assert [model.version for _, model in world.round("a")] == [8]


def test_what_is_measured_is_the_model_as_it_was() -> None:
    world = begun()
    pushed(world, 2)
    expected = world.server.parameters.theta.copy()
    pushed(world, 2)
    world.score(0, 130.0)
    ((_, model),) = world.pull("evaluator")
    assert model.theta.tolist() == expected.tolist()
    assert model.theta.tolist() != world.server.parameters.theta.tolist()


def test_a_step_of_several_updates_passes_over_multiples() -> None:
    kept = evaluations.Evaluations(every=4, size=160)
    for version in (0, 3, 9, 11, 12):
        kept.reach(version, lambda version=version: snapshot(version))
    assert kept.unmeasured == [0, 9, 12]


def test_those_that_find_no_room_are_named(two_fit) -> None:
    world = begun(stop=Stop(updates=9))
    pushed(world, 9)  # 0 and 2 wait; 4, 6 and 8 find no room, the last model always does
    world.score(0, 130.0)
    assert [measured(world, 140.0 + n) for n in range(2)] == [9, 2]
    assert world.server.over
    (left_out,) = world.said("unmeasured")
    assert left_out == {"at": 13.0, "what": "unmeasured", "versions": [4, 6, 8]}
    assert [record["what"] for record in world.records[-2:]] == ["unmeasured", "stop"]


def test_one_version_waits_however_large_it_is() -> None:
    with patch.object(evaluations, "HELD", 1):
        world = begun()
        pushed(world, 2)
        world.score(0, 120.0)
        pushed(world, 2)
        assert measured(world, 130.0) == 4


def test_the_last_model_is_measured_first_and_then_what_waits() -> None:
    world = begun(stop=Stop(updates=5))
    pushed(world, 5)
    assert world.server.ended is not None and not world.server.over
    world.score(0, 115.0)
    assert [measured(world, 116.0 + n) for n in range(3)] == [5, 2, 4]
    assert world.server.over and not world.said("unmeasured")
    booked = {record["version"]: record["at"] for record in world.said("evaluation")}
    assert booked == {0: 0.0, 2: 6.0, 4: 8.0, 5: 9.0}
    assert world.said("stop")[0]["at"] == 9.0


def test_what_cannot_be_measured_in_time_is_named() -> None:
    world = begun(stop=Stop(updates=5))
    pushed(world, 5)
    world.score(0, 115.0)
    assert measured(world, 130.0) == 5
    world.server.tick(114.0 + ENDING)
    assert world.server.over
    assert world.said("unmeasured")[0]["versions"] == [2, 4]


def test_a_run_that_is_ended_from_outside_names_them_too() -> None:
    world = begun()
    pushed(world, 3)
    world.server.end("canceled", 120.0)
    assert world.said("unmeasured")[0]["versions"] == [0, 2]


def test_a_model_that_was_lost_is_sent_again() -> None:
    world = begun()
    ((_, model),) = world.pull("evaluator", 120.0)
    assert model.version == 0
    world.score(0, 121.0)
    assert len(world.said("evaluation")) == 1


def test_a_version_whose_score_was_lost_is_measured_again() -> None:
    world = begun(stop=Stop(updates=2))
    ((_, model),) = world.pull("evaluator", after=1)  # without a score of version 0
    assert model.version == 0
    pushed(world, 2)
    world.score(0, 120.0)
    assert not world.server.over
    assert measured(world, 121.0) == 2
    assert world.server.over


def test_an_evaluator_ahead_of_a_recovered_server_measures_what_waits() -> None:
    world = begun(every=1)
    world.score(0, 106.0)
    world.pull("evaluator", after=9)  # version 8 was measured before the crash
    replies = world.round("a", 110.0)
    assert ("evaluator", 1) in [(node, reply.version) for node, reply in replies]


def test_an_accuracy_may_be_reached_by_an_older_version() -> None:
    world = begun(stop=Stop(accuracy=0.9))
    pushed(world, 3)
    world.score(0, 120.0, accuracy=0.1)
    world.pull("evaluator", 120.0)
    world.score(2, 125.0, accuracy=0.95)
    assert world.server.ended is not None and world.server.ended.at == 125.0
    assert measured(world, 126.0) == 3
    assert world.server.over


def snapshot(version: int) -> evaluations.Snapshot:
    return evaluations.Snapshot(version, World().server.parameters.theta, 0.0, 0)
