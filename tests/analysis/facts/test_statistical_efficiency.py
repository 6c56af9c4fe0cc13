"""Group updates, their number and their time, and penalties, on logs written by hand."""

import math
from pathlib import Path
from typing import Any

import pytest

from analysis.facts.group_updates import (
    group_updates,
    measured,
    penalties,
    seconds_to,
    statistical_efficiency,
)
from analysis.reading.runs import Run
from tests.fakes.runs.handmade_run import update, written


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
        records.append({**evaluation, "accuracy": min(1, updates / 10), "loss": 1.0})
    training = {"synchronization": synchronization}
    summary = {"devices": 4, "updates": updates}
    return written(folder, records, scenario={"training": training}, summary=summary)


BARRIER = [(1.5, "abcd"), (3.0, "abcd"), (4.5, "abcd")]
PAIRS = [(0.5, "ab"), (1.0, "cd"), (1.5, "ab"), (2.0, "cd")]
ALONE = [(float(n), "abcd"[n % 4]) for n in range(1, 9)]


def repeated(steps: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """`steps` again and again, one second behind the last."""
    return [(at + turn * steps[-1][0], devices) for turn in range(20) for at, devices in steps]


@pytest.mark.parametrize(
    ("synchronization", "steps", "count", "to_target", "at", "pace"),
    [
        ({"kind": "barrier"}, BARRIER, 3, 2, 3.0, 1.5),
        ({"kind": "groups", "groups": 1}, BARRIER, 3, 2, 3.0, 1.5),
        ({"kind": "groups", "groups": 2}, PAIRS, 4, 3, 1.5, 0.5),
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
    run = log(tmp_path / "few", synchronization, steps)
    assert group_updates(run) == count
    assert statistical_efficiency(run, 0.5) == to_target
    assert seconds_to(run, 0.5) == at
    assert measured(log(tmp_path / "many", synchronization, repeated(steps))) == pytest.approx(pace)


def test_a_target_that_was_never_reached_is_infinitely_far(tmp_path: Path) -> None:
    run = log(tmp_path, {"kind": "barrier"}, BARRIER[:1])
    assert statistical_efficiency(run, 0.5) == seconds_to(run, 0.5) == math.inf
    assert math.isnan(measured(run))


def test_penalties_are_relative_to_one_group() -> None:
    assert penalties({1: 50.0, 4: 100.0, 8: math.inf}) == {1: 1.0, 4: 2.0, 8: math.inf}
    assert all(math.isnan(value) for value in penalties({1: math.inf, 2: 5.0}).values())
    assert all(math.isnan(value) for value in penalties({2: 5.0}).values())
