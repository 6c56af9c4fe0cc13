"""Waiting for other devices: no update is lost, and no device waits for ever."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import synchronization
from emulator.synchronization import (
    AnySynchronization,
    ComputeGroups,
    Softsync,
)
from tests.fakes.core.arrivals import ALL, NODES, arrive
from tests.synchronization.synchronization_table import TABLE

BY_TABLE = pytest.mark.parametrize("policy", TABLE)


# -- laws ------------------------------------------------------------------------------------------


@pytest.mark.mostly_slow
@BY_TABLE
@given(st.lists(st.tuples(st.sampled_from(NODES), st.floats(0, 20)), max_size=40))
@settings(max_examples=60, deadline=None)
def test_every_arrival_is_in_one_step(
    policy: AnySynchronization, events: list[tuple[str, float]]
) -> None:
    """Nodes that are held send nothing; the clock ticks when it was asked to."""
    synchronizer = policy.start(ALL)
    sent, stepped, now = [], [], 0.0
    synchronizer.begin(now)
    for number, (node, pause) in enumerate(events):
        while (due := synchronizer.deadline()) is not None and due <= now + pause:
            turn, now, pause = synchronizer.releases, due, now + pause - due
            assert synchronizer.tick(due - 0.001) is None
            stepped += synchronizer.tick(due) or []
            assert synchronizer.releases > turn
        now += pause
        if not synchronizer.holds(node):
            synchronizer.sent(node)
            sent.append(number)
            stepped += synchronizer.arrive(node, number, now) or []
    if isinstance(policy, Softsync):
        assert stepped == sent[: len(sent) // 2 * 2]
        return
    while (due := synchronizer.deadline()) is not None and len(stepped) < len(sent):
        stepped += synchronizer.tick(due) or []
    assert sorted(stepped) == sent
    if not isinstance(policy, ComputeGroups):  # groups do not keep each other's order
        assert stepped == sent


@pytest.mark.mostly_slow(quick=2)
@BY_TABLE
@given(st.lists(st.sampled_from(NODES), max_size=60))
@settings(max_examples=60, deadline=None)
def test_who_is_held_stays_so_until_the_turn(policy: AnySynchronization, pushes: list[str]) -> None:
    """And nobody waits for ever: while somebody is held there is a deadline, or one to wait for."""
    synchronizer = policy.start(ALL)
    synchronizer.begin(0.0)
    for number, node in enumerate(pushes):
        before = synchronizer.releases, {item for item in NODES if synchronizer.holds(item)}
        if node not in before[1]:
            synchronizer.sent(node)
            synchronizer.arrive(node, number, float(number))
        held = {item for item in NODES if synchronizer.holds(item)}
        if synchronizer.releases == before[0]:
            assert held >= before[1]
        assert not held or (synchronizer.deadline() is not None and held < ALL)


@BY_TABLE
def test_travels_as_plain_data(policy: AnySynchronization) -> None:
    assert synchronization.make(synchronization.plain(policy)) == policy


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'bsp' is not asynchronous or barrier or"):
        synchronization.make({"kind": "bsp"})


# -- softsync --------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits, workers, needed", [(1, 4, 4), (2, 5, 2), (4, 4, 1), (9, 4, 1)])
def test_a_step_takes_a_share_of_the_workers_gradients(
    splits: int, workers: int, needed: int
) -> None:
    collecting = Softsync(splits).start(frozenset(map(str, range(workers))))
    for _ in range(3):
        assert arrive(collecting, *["0"] * needed) == ["0"] * needed  # whoever sent them
        assert not collecting.holds("0")
