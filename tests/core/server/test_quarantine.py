"""Devices whose messages are refused again and again, and the devices that wait for them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.core.server.refusal_counts import Quarantine, QuarantineRule, Turn
from emulator.core.wire.messages import Again, Diverged, Hello, Leave, Replies
from emulator.synchronization import Barrier, Bounded, LocalSGD, Softsync
from emulator.units import Seconds
from tests.fakes.core.server_world import World

RULE = QuarantineRule(refusals=3, within=10.0, lasts=20.0)


def test_the_last_of_enough_refusals_begins_a_quarantine_and_time_ends_it() -> None:
    quarantine = Quarantine(RULE)
    for now in (1.0, 2.0):
        quarantine.refused("a", now)
    assert (quarantine.holds("a"), quarantine.deadline()) == (False, None)
    quarantine.refused("a", 11.0)
    assert quarantine.holds("a")
    assert [*quarantine.turns(11.0)] == [Turn("a", 31.0)]
    assert quarantine.deadline() == 31.0
    assert [*quarantine.turns(30.9)] == []
    assert [*quarantine.turns(31.0)] == [Turn("a", None)]
    assert (quarantine.holds("a"), quarantine.deadline()) == (False, None)


def test_refusals_that_are_too_far_apart_and_those_of_others_do_not_count() -> None:
    quarantine = Quarantine(RULE)
    for now in (0.0, 6.0, 12.0, 18.0):
        quarantine.refused("a", now)
        quarantine.refused(f"b{now}", now)
    assert not quarantine.holds("a")


def test_each_further_quarantine_lasts_twice_as_long() -> None:
    quarantine, now, lengths = Quarantine(RULE), 0.0, []
    for _ in range(3):
        for _ in range(3):
            quarantine.refused("a", now)
        ((_, until),) = quarantine.turns(now)
        assert until is not None
        lengths.append(until - now)
        now = until
        assert [*quarantine.turns(now)] == [Turn("a", None)]
    assert lengths == [20.0, 40.0, 80.0]


def test_without_a_rule_nobody_goes_into_quarantine() -> None:
    quarantine = Quarantine(None)
    for _ in range(1000):
        quarantine.refused("a", 0.0)
    assert not quarantine.holds("a")
    assert quarantine.deadline() is None


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 5)), max_size=60))
def test_begins_and_ends_of_a_device_take_turns(refusals: list[tuple[str, float]]) -> None:
    quarantine, now = Quarantine(RULE), 0.0
    held: dict[str, bool] = {}
    for node, wait in refusals:
        now += wait
        quarantine.refused(node, now)
        for turned, until in quarantine.turns(now):
            assert held.get(turned, False) == (until is None)
            held[turned] = until is not None
        assert quarantine.holds(node) == held.get(node, False)


# -- in the server ---------------------------------------------------------------------------------


def lying(world: World, node: str, times: int, now: float) -> None:
    for _ in range(times):
        world.server.refuse(node, "a lie", now)


def asked_again(replies: Replies) -> list[str]:
    return sorted(node for node, word in replies if isinstance(word, Again))


def turned(world: World) -> list[tuple[str, float, float | None]]:
    return [
        (record["node"], record["at"], record["until"])
        for record in world.records
        if record["what"] == "quarantine"
    ]


def test_a_quarantined_device_is_not_answered_and_comes_back() -> None:
    world = World(quarantine=RULE)
    world.begin()
    lying(world, "a", 3, 110.0)
    assert world.pull("a", 110.0) == []
    assert not world.server.hears("a") and world.server.hears("b")
    assert world.server.deadline() is not None
    world.server.tick(110.0)
    assert world.pull("a", 120.0) == []
    assert world.push("a", 0, 120.0) == []
    assert world.pull("b", 120.0) != []
    world.server.tick(130.0)
    assert world.server.hears("a") and world.pull("a", 130.0) != []
    assert turned(world) == [("a", 5.0, 25.0), ("a", 25.0, None)]


def test_a_message_that_is_refused_counts() -> None:
    world = World(quarantine=RULE)
    world.begin()
    for _ in range(3):
        assert world.server.handle("a", Diverged("a", 7), 110.0) == []
    assert world.pull("a") == []


def test_nobody_waits_for_a_quarantined_device() -> None:
    world = World(quarantine=RULE, synchronization=Barrier(patience=Seconds(1000)))
    world.begin()
    for node in "abc":
        world.pull(node)
    world.push("a", 0)
    world.push("b", 0)
    lying(world, "c", 3, 111.0)
    assert world.server.version == 0
    world.server.tick(111.0)
    assert world.server.version == 2
    for node in "ab":
        world.pull(node, 112.0)
        world.push(node, 2, 112.0)
    assert world.server.version == 4
    world.server.tick(131.0)
    for node in "ab":
        world.pull(node, 132.0)
        world.push(node, 4, 132.0)
    assert world.server.version == 6  # c has said nothing yet
    world.pull("c", 133.0)  # from here on it is awaited
    for node in "ab":
        world.pull(node, 134.0)
        world.push(node, 6, 134.0)
    assert world.server.version == 6
    world.push("c", 6, 135.0)
    assert world.server.version == 9


@pytest.mark.parametrize("kind", [Softsync(), LocalSGD(steps=1), Bounded(bound=0)])
def test_a_device_that_stays_silent_after_its_quarantine_holds_nobody_up(kind: Any) -> None:
    world = World(quarantine=RULE, synchronization=kind)
    world.begin()
    lying(world, "c", 3, 110.0)
    world.server.tick(110.0)
    assert asked_again(world.server.tick(130.0)) == ["c"]
    for now in (131.0, 132.0, 133.0):
        before = world.server.version
        for node in "ab":
            (_, reply), *_ = world.pull(node, now)
            world.push(node, reply.version, now)
        assert world.server.version == before + 2


def test_the_first_question_after_a_quarantine_begins_a_round_that_waited_for_nobody() -> None:
    world = World(quarantine=RULE, synchronization=LocalSGD(steps=1, patience=Seconds(5)))
    world.begin()
    for node in "abc":
        lying(world, node, 3, 110.0)
    world.server.tick(110.0)
    assert asked_again(world.server.tick(130.0)) == ["a", "b", "c"]
    assert [node for node, _ in world.pull("c", 131.0)] == ["c"]


def test_a_device_is_told_once_that_it_is_heard_again() -> None:
    world = World(quarantine=RULE)
    world.begin()
    lying(world, "c", 3, 110.0)
    assert world.server.tick(110.0) == []
    ((node, word),) = world.server.tick(130.0)
    assert (node, type(word)) == ("c", Again)
    assert world.server.tick(131.0) == []
    world.server.unsent([(node, word)], 131.0)  # it asks again over its next connection anyway
    assert world.said("unsent") == []


def test_a_device_that_has_left_is_told_nothing() -> None:
    world = World(quarantine=RULE, synchronization=Barrier(patience=Seconds(1000)))
    world.begin()
    world.server.receive(Leave("c"), 109.0)
    lying(world, "c", 3, 110.0)
    world.server.tick(110.0)
    assert world.server.tick(130.0) == []
    for node in "ab":
        world.pull(node, 131.0)
        world.push(node, 0, 131.0)
    assert world.server.version == 2


def test_a_hello_does_not_end_a_quarantine() -> None:
    world = World(quarantine=RULE, synchronization=Barrier(patience=Seconds(1000)))
    world.begin()
    lying(world, "c", 3, 110.0)
    world.server.tick(110.0)
    world.server.receive(Hello("c", 1), 112.0)
    assert world.pull("c", 112.0) == []
    for node in "ab":
        world.pull(node, 113.0)
        world.push(node, 0, 113.0)
    assert world.server.version == 2


def test_the_evaluator_and_strangers_never_go_into_quarantine() -> None:
    world = World(quarantine=RULE)
    world.begin()
    for node in ("evaluator", "10.0.0.9"):
        lying(world, node, 10, 110.0)
    world.server.tick(110.0)
    assert turned(world) == []
