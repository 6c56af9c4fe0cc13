"""Compute groups: a barrier inside each group, nothing between the groups."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator import synchronization
from emulator.synchronization import ComputeGroups
from emulator.synchronization.groups import blocks, dealt
from emulator.units import Seconds
from tests.fakes.core.arrivals import ALL, NODES, arrive

TWO = ComputeGroups(2, patience=Seconds(5))
PAIRS = (("a", "b"), ("c", "d"))
MEMBERS = [f"n{number}" for number in range(7)]


def test_a_group_steps_by_itself() -> None:
    groups = TWO.start(ALL, groups=PAIRS)
    assert arrive(groups, "a", "c") is None
    assert [node for node in NODES if groups.holds(node)] == ["a", "c"]
    assert arrive(groups, "d") == ["c", "d"]
    assert [node for node in NODES if groups.holds(node)] == ["a"]
    assert arrive(groups, "c", "d") == ["c", "d"]
    assert arrive(groups, "b") == ["a", "b"]
    assert groups.releases == 3


def test_each_group_has_a_patience_of_its_own() -> None:
    groups = TWO.start(ALL, groups=PAIRS)
    arrive(groups, "c", now=10)
    arrive(groups, "a", now=12)
    assert groups.deadline() == 15
    assert groups.tick(14.9) is None
    assert groups.tick(15) == ["c"]
    assert groups.deadline() == 17
    assert arrive(groups, "c", now=16) == ["c"], "d is given up"
    assert groups.tick(17) == ["a"]
    assert groups.deadline() is None
    assert arrive(groups, "d", "c", now=18) == ["d", "c"], "d is back"


def test_groups_due_at_once_step_one_after_the_other() -> None:
    groups = TWO.start(ALL, groups=PAIRS)
    arrive(groups, "a", "c", now=1)
    assert groups.deadline() == 6
    assert groups.tick(6) == ["a"]
    assert groups.deadline() == 6
    assert groups.tick(6) == ["c"]
    assert groups.deadline() is None


@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.sampled_from(MEMBERS), st.floats(0, 4), st.booleans()), max_size=80),
    st.sets(st.sampled_from(MEMBERS)),
)
@settings(max_examples=80, deadline=None)
def test_groups_wait_for_none_but_their_live_members(
    count: int, events: list[tuple[str, float, bool]], dead: set[str]
) -> None:
    """The `dead` never send. Each gradient counts once, in its sender's group, within patience."""
    groups = blocks(MEMBERS, count)
    home = {name: number for number, group in enumerate(groups) for name in group}
    state = ComputeGroups(count, patience=Seconds(5)).start(frozenset(MEMBERS), groups=groups)
    now, sent, counted = 0.0, {}, set()

    def stepped(arrivals: list[tuple[str, int]] | None) -> None:
        senders = [node for node, _ in arrivals or []]
        assert len({home[node] for node in senders}) <= 1, "a step is of one group"
        for item in arrivals or []:
            assert now <= sent[item] + 5 and item not in counted
            counted.add(item)

    for number, (node, pause, fails) in enumerate(events):
        while (due := state.deadline()) is not None and due <= now + pause:
            now, pause = due, now + pause - due
            stepped(state.tick(now))
        now += pause
        if node in dead or state.holds(node):
            continue
        if fails:
            assert state.failed(node, now) is None
            continue
        others = {name: state.holds(name) for name in MEMBERS if home[name] != home[node]}
        sent[node, number] = now
        stepped(state.arrive(node, (node, number), now))
        assert others == {name: state.holds(name) for name in others}, "no group waits for another"
    while (due := state.deadline()) is not None:
        now = due
        stepped(state.tick(now))
    assert counted == sent.keys()
    assert not any(map(state.holds, MEMBERS))


@given(st.integers(1, 60), st.data())
def test_a_remainder_goes_to_the_first(members: int, data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, members))
    names = [str(number) for number in range(members)]
    cut = blocks(names, groups)
    assert sum(cut, ()) == tuple(names)
    sizes = [len(group) for group in cut]
    assert sizes == [members // groups + (n < members % groups) for n in range(groups)]
    batch = data.draw(st.integers(sizes[0], 300))
    shares = dealt(batch, sizes[0])
    assert sum(shares) == batch and shares == sorted(shares, reverse=True)
    assert shares[0] - shares[-1] <= 1 <= shares[-1]


def test_gradients_weigh_as_their_mini_batches() -> None:
    equal = dict.fromkeys(NODES, 5)
    assert TWO.start(ALL, groups=PAIRS, batches=equal).weights is None
    # groups of different sizes have different shares, alike within each group
    three = (("a", "b", "c"), ("d",))
    assert TWO.start(ALL, groups=three, batches={"a": 2, "b": 2, "c": 2, "d": 6}).weights is None
    uneven = {"a": 4, "b": 3, "c": 4, "d": 3}
    assert TWO.start(ALL, groups=PAIRS, batches=uneven).weights == uneven


@pytest.mark.parametrize("fields", [{"groups": 0}, {"groups": -1}])
def test_too_few_groups_are_refused(fields: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="from 1 up"):
        synchronization.make({"kind": "groups", **fields})


def test_a_member_that_is_elsewhere_holds_up_neither_group() -> None:
    groups = TWO.start(ALL, groups=PAIRS)
    arrive(groups, "a", "c", now=1)
    assert groups.leave("b") == ["a"] and groups.releases == 1
    assert groups.deadline() == 6 and groups.leave("b") is None
    groups.expect(["a", "b"])
    assert arrive(groups, "a") is None, "b is waited for again"
    assert arrive(groups, "d") == ["c", "d"], "no other group has changed"
