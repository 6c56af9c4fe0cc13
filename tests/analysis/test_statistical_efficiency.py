"""Group updates, seconds per group update and penalties, on logs written by hand."""

import math
from pathlib import Path
from typing import Any

import pytest

from analysis.runs import Run
from analysis.statistical_efficiency import (
    group_updates,
    penalties,
    seconds_per_group_update,
    seconds_to,
    statistical_efficiency,
)
from tests.fakes.handmade_run import update, written


def log(folder: Path, synchronization: dict[str, Any], steps: list[tuple[float, str]]) -> Run:
    """Each step is its time, and its devices by letter; a group's letters are ab or cd."""
    records: list[dict[str, Any]] = []
    updates = 0
    for at, devices in steps:
        for device in devices:
            updates += 1
            grouped = {"group": "abcd".index(device) // 2} if len(devices) == 2 else {}
            records.append({**update(at, device), "updates": updates, **grouped})
        evaluation = {"at": at, "what": "evaluation", "updates": updates, "version": updates}
        records.append({**evaluation, "accuracy": updates / 10, "loss": 1.0})
    training = {"synchronization": synchronization}
    summary = {"devices": 4, "updates": updates}
    return written(folder, records, scenario={"training": training}, summary=summary)


BARRIER = [(1.0, "abcd"), (2.0, "abcd"), (4.0, "abcd")]
PAIRS = [(1.0, "ab"), (1.5, "cd"), (2.0, "ab"), (2.5, "cd")]
ALONE = [(float(n), "abcd"[n % 4]) for n in range(1, 9)]


@pytest.mark.parametrize(
    ("synchronization", "steps", "count", "to_target", "at", "pace"),
    [
        ({"kind": "barrier"}, BARRIER, 3, 2, 2.0, 1.5),
        ({"kind": "groups", "groups": 1}, BARRIER, 3, 2, 2.0, 1.5),
        ({"kind": "groups", "groups": 2}, PAIRS, 4, 3, 2.0, 0.5),
        ({"kind": "groups", "groups": 4}, ALONE, 8, 5, 5.0, 1.0),
        ({"kind": "asynchronous"}, ALONE, 8, 5, 5.0, 1.0),
    ],
)
def test_a_step_is_a_group_update(
    tmp_path: Path,
    synchronization: dict[str, Any],
    steps: list[tuple[float, str]],
    count: int,
    to_target: int,
    at: float,
    pace: float,
) -> None:
    run = log(tmp_path, synchronization, steps)
    assert group_updates(run) == count
    assert statistical_efficiency(run, 0.5) == to_target
    assert seconds_to(run, 0.5) == at
    assert seconds_per_group_update(run) == pytest.approx(pace)


def test_a_target_that_was_never_reached_is_infinitely_far(tmp_path: Path) -> None:
    run = log(tmp_path, {"kind": "barrier"}, BARRIER[:1])
    assert statistical_efficiency(run, 0.5) == seconds_to(run, 0.5) == math.inf
    assert math.isnan(seconds_per_group_update(run))


def test_penalties_are_relative_to_one_group() -> None:
    assert penalties({1: 50.0, 4: 100.0, 8: math.inf}) == {1: 1.0, 4: 2.0, 8: math.inf}
    assert all(math.isnan(value) for value in penalties({1: math.inf, 2: 5.0}).values())
    assert all(math.isnan(value) for value in penalties({2: 5.0}).values())
