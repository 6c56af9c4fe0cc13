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
from tests.fakes.runs.group_steps import ALONE, BARRIER, PAIRS, log, repeated


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
