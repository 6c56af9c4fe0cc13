"""Which devices a run may still hear from: brute force over small schedules, and cases by hand."""

from random import Random

import pytest

from emulator.core.survivors import Survivors
from emulator.world.powers import FaultCounts
from emulator.world.verbs import VERBS, Action

KILL, START = Action("kill", "a", "crash"), Action("start", "a", "crash")
SEVER, MEND = Action("sever", "a", "partition"), Action("mend", "a", "partition")


def gone_at(*schedule: tuple[float, Action]) -> float | None:
    """When the only device of a run is gone for good; None: never."""
    survivors = Survivors(1, schedule)
    for at, action in schedule:
        survivors.performed(action.node, at)
        if survivors.none:
            return at
    return None


@pytest.mark.parametrize(
    ("schedule", "at"),
    [
        ([], None),
        ([(1.0, KILL)], 1.0),
        ([(1.0, SEVER)], 1.0),
        ([(1.0, KILL), (2.0, START)], None),
        ([(1.0, SEVER), (2.0, MEND)], None),
        ([(1.0, KILL), (2.0, START), (3.0, SEVER)], 3.0),
        ([(1.0, KILL), (2.0, SEVER), (3.0, START)], 1.0),  # it boots behind a cut
        ([(1.0, SEVER), (2.0, KILL), (3.0, MEND), (4.0, START)], None),
        ([(1.0, KILL), (5.0, SEVER), (6.0, MEND)], 1.0),  # a cut does nothing to the dead
    ],
)
def test_a_schedule_says_from_when_a_device_is_gone(
    schedule: list[tuple[float, Action]], at: float | None
) -> None:
    assert gone_at(*schedule) == at


def test_so_does_brute_force() -> None:
    for seed in range(500):
        schedule = drawn(Random(seed))
        counts, reachable = FaultCounts(), []
        for _, action in schedule:
            counts.changes(action.verb)
            reachable.append(not counts.silenced)
        never = [at for number, (at, _) in enumerate(schedule) if not any(reachable[number:])]
        assert gone_at(*schedule) == (never[0] if never else None)


def drawn(dice: Random) -> list[tuple[float, Action]]:
    """Up to ten actions; no fault ends that has not begun."""
    begun = {verb.name: 0 for verb in VERBS}
    schedule = []
    for at in range(dice.randint(1, 10)):
        verb = dice.choice(VERBS)
        begins = dice.choice([True, False])
        if not begins and not begun[verb.name]:
            continue
        begun[verb.name] += 1 if begins else -1
        schedule.append((float(at), Action(verb.name if begins else verb.undone_by, "a", "some")))
    return schedule


def test_a_run_has_survivors_until_the_last_device_is_gone() -> None:
    schedule = [(1.0, KILL), (2.0, Action("sever", "b", "partition"))]
    survivors = Survivors(4, schedule)
    survivors.performed("a", 1.0)
    survivors.performed("b", 2.0)
    survivors.lost("c")  # drew a fault without an end
    survivors.lost("c")
    assert not survivors.none
    survivors.ended("d", 3.0)
    assert survivors.none


def test_who_ended_unasked_is_booted_only_by_the_schedule() -> None:
    schedule = [(5.0, KILL), (6.0, START)]
    survivors = Survivors(1, schedule)
    survivors.ended("a", 4.0)
    assert not survivors.none
    survivors.ended("a", 7.0)
    assert survivors.none


def test_idle_devices_count_as_gone() -> None:
    survivors = Survivors(2, [(1.0, KILL)], idle=["b"], reason="b never works")
    assert survivors.doomed and not survivors.none and survivors.reason == "b never works"
    survivors.performed("a", 1.0)
    assert survivors.none
