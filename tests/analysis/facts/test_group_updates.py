"""Group updates of a run in the report: predicted beside measured."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis import Run
from analysis.facts.group_updates import efficiency_rows, measured, per_group
from analysis.pages.report import report
from tests.fakes.runs.handmade_run import update, written

PREDICTED = {"groups": 2, "formula": 0.4, "queue": 0.5}


def run_of(folder: Path, groups: int, *, steps: int = 100, devices: int = 4) -> Run:
    """A run with a step every 0.4 s, each of devices / groups updates; the first steps are slow."""
    ats = [(max(0, number - 5) * 0.4) + min(number, 5) * 3 for number in range(steps)]
    named = {} if groups in (1, devices) else {"group": 0}
    records = [update(at, **named) for at in ats for _ in range(devices // groups)]
    return written(
        folder,
        records,
        summary={"outcome": "success", "devices": devices},
        manifest={"hardware_efficiency": {**PREDICTED, "groups": groups}},
    )


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_group_update_is_a_step_of_all_members(tmp_path: Path, groups: int) -> None:
    assert measured(run_of(tmp_path / "run", groups)) == pytest.approx(0.4)


def test_groups_that_step_at_the_same_time_make_two_updates(tmp_path: Path) -> None:
    records = [
        update(number * 0.4, node=f"{group}{member}", group=group)
        for number in range(50)
        for group in (0, 1)
        for member in "ab"
    ]
    manifest = {"hardware_efficiency": PREDICTED}
    run = written(tmp_path / "run", records, summary={"devices": 4}, manifest=manifest)
    assert measured(run) == pytest.approx(0.2)


@pytest.mark.parametrize("updates", range(60, 65))
@pytest.mark.parametrize(("named", "names"), [("group", range(4)), ("node", "abcd")])
def test_groups_that_update_in_bursts_are_counted_over_whole_cycles(
    tmp_path: Path, named: str, names: Sequence[Any], updates: int
) -> None:
    """Four groups update within 40 ms, then nobody for 360 ms; a run may end in between."""
    records = [
        update(number // 4 * 0.4 + number % 4 * 0.01, **{named: names[number % 4]})
        for number in range(updates)
    ]
    manifest = {"hardware_efficiency": {**PREDICTED, "groups": 4}}
    run = written(tmp_path / "run", records, summary={"devices": 4}, manifest=manifest)
    assert measured(run) == pytest.approx(0.1)


@pytest.mark.slow
def test_predictions_stand_beside_the_measurement(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", 2)
    assert [row[1:] for row in efficiency_rows(run)] == [
        ("400", "+0.0 %"),
        ("500", "-20.0 %"),
        ("400", ""),
    ]
    page = report(run.folder).read_text()
    assert "time between two group updates" in page


@pytest.mark.slow
def test_a_run_without_a_prediction_has_no_table(tmp_path: Path) -> None:
    run = written(tmp_path / "run", [update(1.0)])
    assert efficiency_rows(run) == []
    assert "group updates" not in report(run.folder).read_text()


def test_a_few_steps_are_no_measurement(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", 2, steps=10)
    assert math.isnan(measured(run))
    assert efficiency_rows(run)[-1] == ("measured", "–", "")


def test_a_group_without_a_step_has_a_row_too(tmp_path: Path) -> None:
    rows = per_group(run_of(tmp_path / "run", 2))
    assert [row[0] for row in rows] == ["0", "1"]
    assert rows[1] == ("1", "–", "0", "–", "–", "–")
    assert per_group(run_of(tmp_path / "whole", 1)) == []
