"""Devices that get hot as they compute, in virtual time, with times by hand."""

from pathlib import Path

import pytest

from emulator.world.faults.overheat import Heat
from tests.fakes.plain_records import PlainRecord
from tests.fakes.virtual.struck_world import struck, update_times

WORLD = """
# Does a hot device get slower?
name: hot
seed: 5
training: {dataset: digits, model: digits-mlp, batch_size: 8, codec: dense}
stop: {time: 12s}
virtual: {learner: none, step: 100ms, boot: 250ms, tcp: false}
devices:
  - {name: a}
  - {name: b}
"""
HOT = "kind: overheat, nodes: [a], heats: 1s, cools: 2s, slowdown: 3"
ALONE = ("devices=[{name: a}]", "virtual.layers={forward: [2, 1, 1], backward: [4, 1, 1]}")
SEGMENTS = ("training.schedule=layer-by-layer", *ALONE)
CUT = ("training.fully_connected={place: {after: 1}}", *ALONE)


def world(tmp_path: Path, *faults: str, overrides: tuple[str, ...] = ()) -> list[PlainRecord]:
    return struck(tmp_path, WORLD, faults, overrides)


def computed(records: list[PlainRecord], node: str = "a") -> list[float]:
    return [round(r["compute"], 6) for r in records if r["what"] == "update" and r["node"] == node]


def test_gradients_take_longer_up_to_the_slowdown_and_are_fast_after_the_fault(
    tmp_path: Path,
) -> None:
    records = world(tmp_path, f"{HOT}, at: 1.05s, lasts: 5s")
    own = computed(records)
    assert own[:10] == [0.1] * 10
    # the heat grows by the time of each gradient: 0.1, then 0.1 + 0.12, 0.22 + 0.144 …
    hot = [0.1, 0.12, 0.144, 0.1728, 0.20736, 0.248832, 0.298598]
    assert own[11:18] == hot
    assert own[18] == 0.3 and own[-1] == 0.1
    assert set(computed(records, "b")) == {0.1}
    heat, cool = (r for r in records if "begins" in r)
    setting = {"slowdown": 3.0, "heats": 1.0, "cools": 2.0}
    assert (heat["what"], heat["fault"], heat["setting"]) == ("heat", "overheat", setting)
    assert (cool["what"], cool["at"]) == ("cool", 6.05)


def test_a_device_cools_down_while_it_computes_nothing(tmp_path: Path) -> None:
    """A wait of 1 s before each gradient cools by half, more than a gradient heats."""
    waits = "kind: straggler, nodes: [a], delay: 1s, at: 0s"
    records = world(tmp_path, f"{HOT}, at: 0s", waits)
    assert set(computed(records)) == {0.1}


def test_a_device_that_boots_is_cold(tmp_path: Path) -> None:
    records = world(tmp_path, f"{HOT}, at: 0s", "kind: crash, nodes: [a], at: 6s, lasts: 1s")
    times = update_times(records, 0.0, 12.0)
    before = sum(at < 6 for at in times)
    own = computed(records)
    assert own[before - 1] == 0.3
    assert own[before : before + 3] == [0.1, 0.12, 0.144]


@pytest.mark.parametrize(("overrides", "share"), [(SEGMENTS, 1.0), (CUT, 0.6)])
def test_all_passes_of_an_iteration_get_slower(
    tmp_path: Path, overrides: tuple[str, ...], share: float
) -> None:
    """The device's own part of a step heats it; a wait for the server's part cools it."""
    own = 0.1 * share
    cold = computed(world(tmp_path, overrides=overrides))
    assert cold == pytest.approx([own] * len(cold))
    records = world(tmp_path, f"{HOT}, at: 0s", overrides=overrides)
    hot, times = computed(records), update_times(records, 0.0, 12.0)
    cooled = (times[1] - times[0] - own) / 2
    second = own * (1 + 2 * (own - cooled))
    assert hot[:3] == pytest.approx([own, own, second], rel=1e-3)
    assert hot[-1] == pytest.approx(3 * own, rel=0.05 if share == 1 else 1)


def test_the_heat_by_hand() -> None:
    heat, setting = Heat(), {"slowdown": 2.0, "heats": 10.0, "cools": 20.0}
    assert heat.slowdown(0.0, setting) == 1.0
    heat.computed(0.0, 8.0, 3.0, setting)  # 3 s were a pause
    assert heat.slowdown(8.0, setting) == 1.5
    heat.computed(8.0, 14.0, 0.0, setting)
    assert heat.slowdown(14.0, setting) == 2.0
    assert heat.slowdown(24.0, setting) == 1.5  # 10 s without computing cool by half
    heat.computed(29.0, 30.0, 0.0, setting)  # 0.25 at 29 s
    assert heat.slowdown(30.0, setting) == pytest.approx(1.35)
    assert heat.slowdown(1000.0, setting) == 1.0


def test_a_quota_makes_a_slow_core_that_gets_as_hot(tmp_path: Path) -> None:
    """Each gradient takes ten periods of the quota; the heat grows by all of that time."""
    slow = ("devices=[{name: a, profile: {cpu: 10%}}]", "virtual.step=100ms")
    own = computed(world(tmp_path, f"{HOT}, at: 0s", overrides=slow))
    assert own[:2] == pytest.approx([1.0, 1.0], abs=0.1)  # the fault holds from the second on
    assert own[2:] == pytest.approx([3.0] * len(own[2:]), abs=0.1)


def test_a_pause_in_a_gradient_neither_heats_nor_cools(tmp_path: Path) -> None:
    pause = "kind: pause, nodes: [a], at: 250ms, lasts: 3s"
    step = ("virtual.step=400ms", "devices=[{name: a}]")
    calm = computed(world(tmp_path, f"{HOT}, at: 0s", overrides=step))
    paused = computed(world(tmp_path, f"{HOT}, at: 0s", pause, overrides=step))
    assert paused[0] == pytest.approx(calm[0] + 3)
    assert paused[1:4] == pytest.approx(calm[1:4], rel=1e-3)
