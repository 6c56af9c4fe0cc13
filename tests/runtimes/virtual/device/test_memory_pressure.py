"""Devices that run out of memory in virtual time, under a fault that takes it."""

from pathlib import Path

import pytest

from emulator.checks.faults import scarce_memory
from emulator.errors import ScenarioError
from emulator.scenario import loads
from tests.fakes.plain_records import PlainRecord, read
from tests.fakes.virtual_world import played

WORLD = """
# Does a worker survive a shortage of memory?
name: pressed
seed: 5
training: {dataset: digits, model: digits-mlp, batch_size: 8, codec: dense}
stop: {time: 12s}
virtual: {learner: none, step: 400ms, boot: 250ms, tcp: false}
devices:
  - {name: a, profile: {memory: 256MiB}}
  - {name: b, profile: {memory: 512MiB}}
"""
PRESS = "kind: memory, nodes: [a, b], takes: 70%, at: 2.2s"
CRASH = "kind: crash, nodes: [a]"


def world(
    tmp_path: Path, *faults: str, overrides: tuple[str, ...] = (), outcome: str = "success"
) -> list[PlainRecord]:
    text = f"{WORLD}faults: [{', '.join(f'{{{fault}}}' for fault in faults)}]\n"
    folder, summary, _ = played(tmp_path, *overrides, text=text)
    assert summary["outcome"] == outcome
    return list(read(folder / "run.jsonl"))


def life(records: list[PlainRecord], node: str = "a") -> list[tuple[float, str]]:
    """The faults of a device, its ends and its hellos within the run."""
    kinds = ("hello", "exit")
    found = (r for r in records if r.get("node") == node and r["at"] > 0)
    return [(r["at"], r["what"]) for r in found if r["what"] in kinds or "begins" in r]


def test_a_worker_without_memory_is_killed_and_boots_when_it_is_released(tmp_path: Path) -> None:
    """Of 256 MiB, 77 are left, too few; of 512 MiB, 154, which is enough."""
    records = world(tmp_path, f"{PRESS}, lasts: 3s")
    assert life(records) == [(2.2, "press"), (2.2, "exit"), (5.2, "release"), (5.45, "hello")]
    assert life(records, "b") == [(2.2, "press"), (5.2, "release")]
    (end,) = (r for r in records if r["what"] == "exit")
    assert (end["code"], end["cause"]) == (-9, "limit")
    assert end["reason"] == (
        "killed by its own memory limit of 256MiB: if no fault `memory` took the "
        "rest, raise `memory` in the profile of a"
    )
    (press, _) = (r for r in records if r["what"] == "press")
    assert (press["fault"], press["setting"]) == ("memory", {"share": 0.7})
    assert [r["incarnation"] for r in records if r["what"] == "hello" and r["node"] == "a"] == [
        0,
        1,
    ]
    updates = [r["at"] for r in records if r["what"] == "update" and r["node"] == "a"]
    assert not [at for at in updates if 2.2 < at < 5.5] and [at for at in updates if at > 5.5]


def test_a_crash_that_ends_meanwhile_boots_nothing(tmp_path: Path) -> None:
    records = world(tmp_path, f"{PRESS}, lasts: 3s", f"{CRASH}, at: 3s, lasts: 1s")
    found = [what for _, what in life(records)]
    assert found == ["press", "exit", "kill", "boot", "release", "hello"]
    assert life(records)[-1][0] == 5.45


def test_a_crash_that_ends_later_boots_the_device(tmp_path: Path) -> None:
    records = world(tmp_path, f"{PRESS}, lasts: 3s", f"{CRASH}, at: 3s, lasts: 4s")
    found = [what for _, what in life(records)]
    assert found == ["press", "exit", "kill", "release", "boot", "hello"]
    assert life(records)[-1][0] == 7.25


def test_a_device_that_boots_under_pressure_is_killed_as_well(tmp_path: Path) -> None:
    records = world(tmp_path, f"{PRESS}, lasts: 3s", f"{CRASH}, at: 1s, lasts: 2s")
    found = [what for _, what in life(records)]
    assert found == ["kill", "press", "boot", "exit", "release", "hello"]


@pytest.mark.parametrize("cut", ["at: 1s, lasts: 2s", "at: 3s, lasts: 1s", "at: 4s, lasts: 3s"])
@pytest.mark.parametrize("kind", ["partition", "pause"])
def test_other_faults_may_overlap_the_shortage(tmp_path: Path, kind: str, cut: str) -> None:
    records = world(tmp_path, f"{PRESS}, lasts: 3s", f"kind: {kind}, nodes: [a], {cut}")
    updates = [r["at"] for r in records if r["what"] == "update" and r["node"] == "a"]
    assert not [at for at in updates if 2.3 < at < 5.2] and [at for at in updates if at > 7.8]


def test_a_run_ends_when_no_device_has_memory_for_good(tmp_path: Path) -> None:
    few = ("devices[1].profile.memory=256MiB",)
    records = world(tmp_path, PRESS, overrides=few, outcome="failed")
    assert records[-1]["at"] == 3.2
    world(tmp_path, f"{PRESS}, lasts: 3s", overrides=few)


def test_a_drawn_shortage_ends_by_itself(tmp_path: Path) -> None:
    drawn = "[{name: m, faults: [{kind: memory, takes: 80%, per_iteration: 30%, lasts: 1s}]}]"
    records = world(tmp_path, overrides=(f"devices[0].failures={drawn}",))
    found = [what for _, what in life(records)]
    assert "press" in found  # after the first, which may strike at the run's zero
    first = found.index("press")
    assert found[first : first + 4] == ["press", "exit", "release", "hello"]


def test_a_fault_must_leave_the_supervisor_its_memory() -> None:
    refused = [str(error) for error in scarce_memory(loads(f"{WORLD}faults: [{{{PRESS}}}]"))]
    assert refused == []
    text = f"{WORLD}faults: [{{{PRESS.replace('70%', '90%')}}}]"
    (error,) = scarce_memory(loads(text))
    assert error.raises is ScenarioError and str(error) == (
        "faults[0]: a: memory takes 90% of 256MiB: of that, 48MiB are kept for the device's "
        "supervisor: write 81% at most, or raise the memory of its profile"
    )
    drawn = "[{name: m, faults: [{kind: memory, takes: 95%, per_iteration: 1%, lasts: 1s}]}]"
    errors = scarce_memory(loads(WORLD, (f"devices[1].failures={drawn}",)))
    (drawn_error,) = errors
    assert str(drawn_error).startswith("devices[1].failures[0].faults[0]: b: memory takes 95% ")
