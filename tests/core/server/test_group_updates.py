"""Updates of compute groups in the log: the group's number, and staleness in steps of groups."""

import pytest

from emulator.core.server.pulled_versions import GroupUpdates
from emulator.modulation import PerParameter, Staleness, history
from emulator.synchronization import ComputeGroups
from emulator.units import Seconds
from tests.fakes.core.server_world import World

GROUPS = (("a", "b"), ("c",))


def world(**options):
    made = World(
        synchronization=ComputeGroups(2, patience=Seconds(5)),
        groups=GroupUpdates(GROUPS),
        **options,
    )
    made.begin()
    return made


def updates(made):
    return [
        (record["node"], record["version"], record["staleness"], record["group"])
        for record in made.said("update")
    ]


def test_staleness_counts_steps_and_the_version_updates() -> None:
    made = world()
    for node in "abc":
        made.pull(node)
    made.push("c", 0)
    made.round("c")
    made.push("a", 0)
    made.push("b", 0)
    made.round("c")
    assert updates(made) == [
        ("c", 1, 0, 1),
        ("c", 2, 0, 1),
        ("a", 3, 2, 0),
        ("b", 4, 2, 0),
        ("c", 5, 0, 1),
    ]


def test_a_divisor_counts_the_same_steps() -> None:
    made = world(modulation=Staleness())
    for node in "abc":
        made.pull(node)
    made.push("a", 0)
    made.push("b", 0)
    made.push("c", 0)
    for node in "ab":
        made.pull(node)
    for _ in range(3):
        made.round("c")
    for node in "ab":
        made.push(node, 3)
    records = made.said("update")
    assert [(r["staleness"], r["divisor"]) for r in records[-2:]] == [(3, 3.0)] * 2
    assert records[2]["staleness"] == records[2]["divisor"] == 1


@pytest.mark.parametrize("modulation", [Staleness(), PerParameter()])
def test_steps_of_others_leave_the_history_of_a_push_that_waits(modulation, monkeypatch) -> None:
    monkeypatch.setattr(history, "_UPDATES", 2)
    made = world(modulation=modulation)
    made.pull("a")
    made.push("a", 0)
    for _ in range(30):
        made.round("c")
    made.pull("b")
    for _ in range(4):
        made.round("c")
    made.push("b", 30)
    assert [r["divisor"] for r in made.said("update")[-2:]] == [34, 4]
    assert list(made.server._exchanges._pulled) == []
    made.round("c")
    assert made.server.parameters.oldest > 30


def test_a_push_that_waited_longer_than_the_history_reaches_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(history, "_UPDATES", 2)
    monkeypatch.setattr(history, "_REACH", 8)
    made = world(modulation=PerParameter())
    made.pull("a")
    made.push("a", 0)
    for _ in range(20):
        made.round("c")
    made.pull("b")
    made.push("b", 20)
    assert updates(made)[-1] == ("b", 21, 0, 0)
    (refused,) = made.said("refused")
    assert refused["node"] == "a"
    assert refused["reason"] == "version 0 is older than the history kept"


def test_a_device_that_died_costs_one_number() -> None:
    made = world()
    made.pull("a")
    counts = made.server._exchanges._groups
    for _ in range(50):
        made.round("c")
    assert counts._at_pull == {"a": 0, "c": 49}
    made.push("a", 0)
    made.server.tick(made.server.deadline())
    assert updates(made)[-1] == ("a", 51, 50, 0)
