"""The language of faults: times, targets, and devices that are struck together."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.errors import ScenarioError
from emulator.scenario import Scenario, dump, loads
from emulator.scenario.reading.dump import plain
from emulator.scenario.timeline.compiled import Outage, outages, timeline, to_jsonl
from tests.fakes.small_scenario import SCENARIOS, addresses
from tests.world.faults.verbs_of_kinds import VERBS_OF_KINDS as KINDS

DAY = "24h"


def scenario(*faults: str, profile: str = "", devices: int = 20, seed: int = 0) -> Scenario:
    """A day of a farm with these faults, or with a failure profile of one entry."""
    failures = f", failures: [{{name: mine, faults: [{profile}]}}]" if profile else ""
    return loads(
        f"name: farm\nseed: {seed}\nstop: {{time: {DAY}}}\n"
        "training: {dataset: digits, model: digits-mlp, algorithm: asgd}\n"
        f"devices: [{{name: farm, count: {devices}{failures}}}, {{name: shed}}]\n"
        f"faults: [{', '.join(faults)}]\n",
        folder=SCENARIOS,
    )


def planned(*faults: str, **given: Any) -> list[Outage]:
    return outages(scenario(*faults, **given))


def spans(found: list[Outage]) -> list[tuple[str, float, float]]:
    return [(outage.node, outage.begin, outage.end) for outage in found]


def test_a_fault_at_a_law_strikes_each_device_at_a_time_of_its_own() -> None:
    found = planned("{kind: crash, nodes: [farm], at: {uniform: [1h, 2h]}, lasts: {fixed: 5s}}")
    assert [outage.node for outage in found] != sorted(outage.node for outage in found)
    assert {outage.node for outage in found} == {f"farm-{number}" for number in range(20)}
    assert len({outage.begin for outage in found}) == 20
    assert all(3600 <= outage.begin <= 7200 for outage in found)
    assert all(outage.end - outage.begin == pytest.approx(5) for outage in found)


def test_a_fault_of_the_scenario_may_come_again_and_again() -> None:
    found = planned("{kind: partition, nodes: [shed], every: 7h, lasts: 1h}")
    hours = [(outage.begin / 3600, outage.end / 3600) for outage in found]
    assert hours == [(7, 8), (15, 16), (23, 24)]


def test_a_window_begins_with_an_up_time_and_ends_before_a_fault() -> None:
    found = planned("{kind: crash, nodes: [shed], every: 1h, lasts: 1h, between: [10h, 15h]}")
    assert [outage.begin / 3600 for outage in found] == [11, 13]
    open_end = planned("{kind: crash, nodes: [shed], every: 1h, lasts: 1h, between: [20h, end]}")
    assert [outage.begin / 3600 for outage in open_end] == [21, 23]


def test_all_is_every_device_and_a_count_or_share_a_part_of_them() -> None:
    def struck(targets: str, **given: Any) -> list[str]:
        return [outage.node for outage in planned(f"{{kind: crash, at: 1s, {targets}}}", **given)]

    assert len(struck("nodes: all")) == 21
    assert len(struck("count: 3")) == 3
    assert len(struck("share: 20%")) == 4  # of 21 devices
    assert len(struck("nodes: [farm], share: 12.5%")) == 3  # 2.5 of 20 devices, rounded
    assert len(struck("nodes: [farm], share: 1%")) == 1
    assert struck("nodes: [shed, farm-3], share: 100%") == ["farm-3", "shed"]
    assert "shed" not in struck("nodes: [farm], count: 19")
    assert struck("count: 3") == struck("count: 3")
    assert struck("count: 3") != struck("count: 3", seed=1)
    assert set(struck("count: 3")) < set(struck("count: 4"))


def test_another_fault_or_device_displaces_no_drawn_target() -> None:
    def struck(*faults: str, **given: Any) -> set[str]:
        found = planned(*faults, **given)
        return {outage.node for outage in found if outage.fault.kind == "crash"}

    fault, other = "{kind: crash, at: 1s, count: 5}", "{kind: partition, at: 1s, count: 5}"
    alone = struck(fault)
    assert alone == struck(fault, other)
    assert {outage.node for outage in planned(fault, other)} != alone
    assert len(alone & struck(fault, devices=21)) >= 4


def test_devices_struck_together_share_all_times() -> None:
    found = planned(
        "{kind: crash, nodes: [farm], every: {exponential: 2h}, lasts: {exponential: 10min}, "
        "together: true}"
    )
    assert len(found) > 40
    times = {(outage.begin, outage.end) for outage in found}
    assert len(times) * 20 == len(found)


def test_a_spread_delays_each_device_each_time_by_its_own_law() -> None:
    common = "kind: partition, nodes: [farm], every: 2h, lasts: 10min, together: true"
    found = planned(f"{{{common}, spread: {{uniform: [0s, 1min]}}}}")
    exact = planned(f"{{{common}}}")
    assert len(found) == len(exact)
    begins = sorted({outage.begin for outage in exact})
    delays: dict[str, set[float]] = {}
    for outage in found:
        assert outage.end - outage.begin == pytest.approx(600)
        base = max(begin for begin in begins if begin <= outage.begin)
        assert outage.begin - base <= 60
        delays.setdefault(outage.node, set()).add(outage.begin - base)
    assert all(len(own) == len(begins) for own in delays.values())


def test_a_profile_strikes_a_part_of_its_devices_and_together() -> None:
    found = planned(profile="{kind: crash, at: {exponential: 3h}, share: 25%, together: true}")
    assert len(found) == 5
    assert len({outage.begin for outage in found}) == 1
    assert "shed" not in {outage.node for outage in found}


def test_a_profile_in_two_groups_is_one_set_of_targets() -> None:
    profile = (
        "{name: street, faults: [{kind: crash, every: 5h, lasts: 1h, count: 3, together: true}]}"
    )
    both = loads(
        f"name: two\nstop: {{time: {DAY}}}\n"
        "training: {dataset: digits, model: digits-mlp, algorithm: asgd}\n"
        f"devices: [{{name: odd, count: 9, failures: [{profile}]}}, "
        f"{{name: even, count: 9, failures: [{profile}]}}]\n",
        folder=SCENARIOS,
    )
    found = outages(both)
    assert len({outage.node for outage in found}) == 3
    assert len({outage.begin for outage in found}) * 3 == len(found)


def test_drawn_faults_have_targets_too() -> None:
    drawn = "kind: pause, per_iteration: 1%, lasts: 2s"
    made = scenario(f"{{{drawn}, nodes: [farm-1, farm, farm-1]}}")
    assert timeline(made) == []
    assert {device.name: len(device.hazards) for device in made.nodes} == {
        **{f"farm-{number}": 1 for number in range(20)},
        "shed": 0,
    }
    some = scenario(f"{{{drawn}, count: 6}}")
    assert sum(len(device.hazards) for device in some.nodes) == 6
    profiled = scenario(profile=f"{{{drawn}, share: 50%}}")
    assert sum(len(device.hazards) for device in profiled.nodes) == 10
    both = scenario(f"{{{drawn}, nodes: [shed]}}", profile=f"{{{drawn}}}")
    assert [len(device.hazards) for device in both.nodes] == [1] * 21


def test_what_is_dumped_compiles_to_the_same_bytes() -> None:
    made = scenario(
        "{kind: crash, count: 2, at: {normal: [1h, 1min]}, lasts: 1min}",
        "{kind: pause, nodes: all, every: 3h, between: [1h, end], lasts: 1s, together: true, "
        "spread: {uniform: [0s, 9s]}}",
        "{kind: partition, nodes: [farm], share: 30%, per_iteration: 1%}",
    )
    again = loads(dump(made))
    assert to_jsonl(timeline(again)) == to_jsonl(timeline(made))
    assert [device.hazards for device in again.nodes] == [d.hazards for d in made.nodes]


FAULTS: list[dict[str, Any]] = [
    *({**plain(fault), "nodes": ["shed"], "every": "10s", "lasts": "1s"} for fault, *_ in KINDS),
    {"kind": "crash", "nodes": ["farm-0", "shed"], "at": {"uniform": ["1s", "2s"]}, "lasts": "1s"},
    {"kind": "pause", "nodes": "all", "every": "3h", "between": ["1h", "end"], "lasts": "1s"},
    {"kind": "crash", "share": "30%", "at": "1h", "together": True, "spread": {"fixed": "1s"}},
    {"kind": "partition", "count": 2, "per_iteration": "1%", "lasts": {"weibull": ["1s", 2]}},
]
SECTION = {
    "name": "farm",
    "training": {"dataset": "digits", "model": "digits-mlp", "algorithm": "asgd"},
    "stop": {"time": "2min"},
    "devices": [
        {"name": "farm", "count": 2, "failures": [{"name": "x", "faults": [{"kind": "crash"}]}]},
        {"name": "shed"},
    ],
    "faults": FAULTS,
}
PROFILED = {"kind": "crash", "every": {"exponential": "1h"}, "lasts": "1s", "count": 1}
SECTION["devices"][0]["failures"][0]["faults"][0] = PROFILED  # type: ignore[index]
PLACES = [at for at in addresses(SECTION) if "faults" in at]
NAMES = sorted({key for fault in [*FAULTS, PROFILED] for key in fault})
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 10**20)
    | st.floats()
    | st.sampled_from(["all", "end", "1s", "1h", "5%", "0%", "crash", "farm", "", "\x00"])
    | st.sampled_from([[], {}, ["1s", "1s"], ["farm"], [["shed"]], {"fixed": None}, {"every": 1}])
    | st.text(max_size=3)
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(at=st.sampled_from(PLACES), value=VALUES, key=st.sampled_from(NAMES), how=st.integers(0, 2))
def test_a_mutated_fault_is_compiled_or_refused_with_its_place(
    at: tuple[Any, ...], value: Any, key: str, how: int
) -> None:
    data: Any = copy.deepcopy(SECTION)
    holder = data
    for step in at[:-1]:
        holder = holder[step]
    if how == 0 and isinstance(holder[at[-1]], dict):
        holder[at[-1]][key] = value
    elif how == 1 and isinstance(holder, dict):
        del holder[at[-1]]
    else:
        holder[at[-1]] = value
    try:
        timeline(loads(json.dumps(data, indent=1), folder=SCENARIOS))
    except ScenarioError as error:
        assert all("faults" in mistake["place"] for mistake in error.mistakes)
        assert all(mistake["line"] for mistake in error.mistakes)
