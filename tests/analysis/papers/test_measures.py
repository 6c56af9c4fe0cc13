"""Measures of a run by their names, and names that are none."""

import math
import re
from pathlib import Path

import pytest
from msgspec.structs import fields

from analysis import read
from analysis.papers.claim_rules import RULES
from analysis.papers.course import BYTE_MODELS, EXAMPLES, course
from analysis.papers.declaration import X_AXES, Y_AXES, Claim, FigureSpec, TableSpec
from analysis.papers.measures import PLAIN, UnknownMeasureError, heading, measure, middle
from emulator.learning.datasets import DATASETS
from tests.fakes.runs.handmade_run import written
from tests.fakes.runs.made_up_study import BETTER, GOOD, training
from tests.layers import ROOT

VALUES = {
    "ended": (0.9 + 0.972 + 0.98 + 0.981) / 4,
    "best": 0.981,
    "last": 0.981,
    "least error": 1 - 0.981,
    "updates": 50,
    "pushed": 50 * 16,
    "pulled": 50 * 700,
    "both": 50 * 716,
    "staleness": 0,
    "divisor": 1,
    "diverged": 0,
    "updates to 97%": 20,
    "seconds to 97.2%": 20,
    "pushed to 98%": 30 * 16,
    "pushed to 98% as value only": 30 * 4,
    "both to 98%": 30 * 716,
    "updates to 99%": math.inf,
    "updates/s to 97%": 1,
    "accuracy after 25s": (0.9 + 0.972) / 2,
    "compression of wire": 25,
    "compression of wire 2/4": 25,
}


@pytest.mark.parametrize("name", VALUES)
def test_a_measure_of_a_run(name: str, tmp_path: Path) -> None:
    written(tmp_path, training(GOOD, 1, 2), summary={"dense_push_bytes": 50 * 400})
    assert measure(name).of(course(read(tmp_path))) == pytest.approx(VALUES[name])


def compression(updates: int, sent: int, residue: float) -> dict[str, object]:
    """A device's record of its update number `updates`, beside the update of the server with it."""
    held = {"sent": {"conv0/weights": sent}, "residue": {"conv0/weights": residue}}
    return {"what": "compression", "at": updates - 1.0, "node": "a", "updates": updates, **held}


def test_entries_and_residues_of_a_variable_are_means_over_devices_and_moments(
    tmp_path: Path,
) -> None:
    measured = [
        compression(number, sent, residue)
        for number, sent, residue in ((10, 99, 9.0), (20, 4, 1.0), (20, 8, 7.0))
    ]
    later = [compression(number, 6, 5.0) for number in (30, 40, 50)]
    records = [*training(GOOD, 1, 2), *measured, *later]
    written(tmp_path, sorted(records, key=lambda record: record["at"]))
    found = course(read(tmp_path))
    assert measure("sent of conv0/weights").of(found) == 6
    assert measure("residue of conv0/weights").of(found) == 5
    assert list(found.measured["updates"]) == [10, 20, 30, 40, 50]
    assert list(found.measured["residue conv0/weights"]) == [9, 5, 5, 5, 5]
    assert math.isnan(measure("sent of conv1/weights").of(found))


@pytest.mark.parametrize(
    "name",
    [
        "pushd to 98%",
        "pushed to 98",
        "pushed to 98% as nothing",
        "compression of conv 3/2",
        "compression of conv 1/7",
        "accuracy after a while",
    ],
)
def test_a_wrong_name_is_refused_with_the_names_that_exist(name: str) -> None:
    with pytest.raises(UnknownMeasureError, match=r"is not a measure: a measure is ended, best"):
        measure(name)


def test_headings() -> None:
    assert heading("fewer pushed to 98.5%") == "× fewer pushed to 98.5 %"
    assert heading("accuracy after 100s") == "accuracy after 100 s"
    assert heading("rate") == "learning rate"


def test_a_missing_seed_leaves_no_median() -> None:
    assert middle([1.0, 3.0, math.inf]) == 3.0
    assert math.isnan(middle([1.0, math.nan, 2.0]))
    assert math.isnan(middle([]))


def test_a_run_without_updates_has_no_measures(tmp_path: Path) -> None:
    written(tmp_path, [{"what": "stop", "at": 0.0, "reason": "time"}])
    found = course(read(tmp_path))
    assert math.isnan(measure("ended").of(found))
    assert math.isnan(measure("pushed").of(found))
    assert measure("updates to 90%").of(found) == math.inf


def test_the_sizes_of_the_data_sets_are_those_of_the_catalog() -> None:
    assert {name: held.sizes["train"] for name, held in DATASETS.items()} == EXAMPLES


def test_an_accuracy_that_is_not_a_number_is_zero(tmp_path: Path) -> None:
    written(tmp_path, training((0.5, math.nan), 1, 2))
    assert measure("last").of(course(read(tmp_path))) == 0.0
    assert course(read(tmp_path)).evaluations["updates"] == [0.0, 10.0]


GOALS = {"97%": 20.0, "98.5%": 30.0}


@pytest.mark.parametrize("goal", GOALS)
def test_the_first_evaluation_at_a_target_counts(goal: str, tmp_path: Path) -> None:
    written(tmp_path, training(BETTER, 1, 2))
    assert measure(f"updates to {goal}").of(course(read(tmp_path))) == GOALS[goal]


def test_the_page_names_every_measure_and_rule() -> None:
    page = (ROOT / "docs" / "study.md").read_text()
    named = set(re.findall(r"`([^`]+)`", page))
    assert named >= {*PLAIN, *BYTE_MODELS, *RULES, *X_AXES, *Y_AXES}
    assert named >= {f"{cost} to X%" for cost in ("updates", "seconds", "pushed", "pulled", "both")}
    assert set(TableSpec.__struct_fields__) | set(FigureSpec.__struct_fields__) <= named
    assert {field.encode_name for field in fields(Claim)} <= named | {"of"}
