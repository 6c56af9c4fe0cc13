"""Devices whose messages are refused again and again, and the devices that wait for them."""

from hypothesis import given
from hypothesis import strategies as st

from emulator.core.messages import Diverged, Hello
from emulator.core.quarantine import Quarantine, QuarantineRule, Turn
from emulator.synchronization import Barrier
from emulator.units import Seconds
from tests.fakes.server_world import World

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
    assert world.server.deadline() is not None
    world.server.tick(110.0)
    assert world.pull("a", 120.0) == []
    assert world.push("a", 0, 120.0) == []
    assert world.pull("b", 120.0) != []
    world.server.tick(130.0)
    assert world.pull("a", 130.0) != []
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
    world.server.tick(131.0)  # c is awaited again
    for node in "ab":
        world.pull(node, 132.0)
        world.push(node, 4, 132.0)
    assert world.server.version == 4
    world.pull("c", 133.0)
    world.push("c", 4, 133.0)
    assert world.server.version == 7


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
