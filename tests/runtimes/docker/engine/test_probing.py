"""Which means to cut a link a scenario needs of the kernel, as its faults' verbs say."""

from dataclasses import dataclass, replace
from typing import Literal

import pytest

from emulator.runtimes.docker.engine.probing import cuts_needed
from emulator.scenario import Device, Scenario
from emulator.scenario.timeline.compiled import timeline
from emulator.shaping.features import Features
from emulator.world import faults
from emulator.world.verbs import Action
from tests.fakes.small_scenario import small

BARE = Features()
NFTABLES = replace(BARE, nftables=True)


@dataclass(frozen=True)
class Unplug:
    """A fault of another kind than `partition` that cuts a link."""

    kind: Literal["unplug"] = "unplug"

    def begin(self, node: str) -> Action:
        return Action("sever", node, self.kind)

    def end(self, node: str) -> Action:
        return Action("mend", node, self.kind)


def planned(kind: str) -> Scenario:
    aimed = f"faults:\n  - {{kind: {kind}, nodes: [one], at: 5s}}\n"
    return small(("stop:", f"{aimed}stop:"))


def drawing(kind: str) -> list[Device]:
    """A device that draws faults of this kind by iteration."""
    begin = faults.FAULTS[kind]().begin("").verb
    hazard = {"kind": kind, "begin": begin, "per_iteration": 0.01, "lasts": None}
    return [replace(small().nodes[0], hazards=(hazard,))]


def test_a_world_without_faults_needs_no_cut() -> None:
    assert not cuts_needed(timeline(small()), small().nodes, NFTABLES)


@pytest.mark.parametrize(("kind", "bare"), [("partition", True), ("crash", False)])
def test_a_partition_needs_a_cut_and_a_crash_takes_it_where_it_can(kind: str, bare: bool) -> None:
    scenario = planned(kind)
    assert cuts_needed(timeline(scenario), scenario.nodes, BARE) is bare
    assert cuts_needed([], drawing(kind), BARE) is bare
    assert cuts_needed([], drawing(kind), NFTABLES)


def test_any_kind_that_severs_needs_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nftables, too: else a drawn fault would be logged, and would cut nothing."""
    monkeypatch.setitem(faults.FAULTS, "unplug", Unplug)
    assert cuts_needed([], drawing("unplug"), BARE)
